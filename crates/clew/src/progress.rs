//! Progress lines: on standard error, on a terminal only.

use crate::is_interrupted;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// How often a line is drawn.
const TICK: Duration = Duration::from_millis(200);

/// A line about reading a file of `size` bytes, or a stream.
pub fn bytes(size: Option<u64>, doing: &'static str) -> ProgressBar {
    match size {
        Some(size) => line(
            ProgressBar::new(size),
            "{msg} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            doing,
        ),
        None => line(
            ProgressBar::new_spinner(),
            "{msg} {spinner} {bytes}, {bytes_per_sec}",
            doing,
        ),
    }
}

/// Works on the rows of a register, under a line that tells how many are done. The work is told to
/// stop when the program is interrupted.
pub fn while_counting<T>(
    doing: &'static str,
    work: impl FnOnce(clew_manager::Progress<'_>) -> T,
) -> T {
    let bar = rows(doing);
    let done = work(&mut |done, of| {
        bar.set_length(of);
        bar.set_position(done);
        !is_interrupted()
    });
    bar.finish_and_clear();
    done
}

/// A line about rows of a register; their number may be told later.
pub fn rows(doing: &'static str) -> ProgressBar {
    line(
        ProgressBar::new(0),
        "{msg} [{bar:30}] {pos} of {len} rows, {eta} left",
        doing,
    )
}

/// A line about packets of an interface.
pub fn observing() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    line(bar, "{msg} {spinner} {pos} packets, {per_sec}", "observing")
}

fn line(bar: ProgressBar, template: &str, doing: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(doing);
    bar.enable_steady_tick(TICK);
    bar
}
