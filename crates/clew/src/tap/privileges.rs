//! Privileges that end when the tap is open.

use crate::failure::Failure;
use caps::CapSet;

/// Gives up all capabilities of this thread, and of those that it starts from now on: to be called
/// while there is no other. A program that is run gets none back.
///
/// # Errors
/// The system refuses.
pub fn give_up() -> Result<(), Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot give up privileges: {error}"));
    // Ambient first: it must stay within the others. Old kernels have no ambient set.
    let _ = caps::clear(None, CapSet::Ambient);
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(|error| failed(&error))?;
    }
    nix::sys::prctl::set_no_new_privs().map_err(|error| failed(&error))
}
