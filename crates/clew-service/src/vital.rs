//! Threads and tasks without which a service would only look alive.

/// Held by a thread or task that a service cannot do without. If that panics, the process ends, so that its
/// supervisor starts it again: what was acknowledged is on the disk.
pub(crate) struct Vital;

impl Drop for Vital {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
