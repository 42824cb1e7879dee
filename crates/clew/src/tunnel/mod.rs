//! MinimaLT tunnels (`spec/tunnel.md`): keys and records in files, byte streams over connections, services,
//! directories. The protocol is `clew-tunnel`'s, the sockets are `clew-tunnel-udp`'s.

pub mod files;
pub mod forward;
pub mod keys;
pub mod link;
pub mod names;
pub mod places;
pub mod rarely;
pub mod records;
pub mod registry;
pub mod services;
pub mod serving;
pub mod stream;
pub mod traces;
pub mod users;
pub mod watch;

use crate::failure::Failure;
use crate::flow::relay::Until;
use std::time::Duration;

/// How often a command looks whether it is to stop.
const NAP: Duration = Duration::from_millis(100);

/// How long last words may take when a command ends.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs a command that waits for the network. What still waits then, for standard input above all, is left.
///
/// # Errors
/// What the command says; the system's, of threads.
pub fn run<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|e| Failure::new(format!("cannot start threads: {e}")))?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    done
}

/// Runs a command that waits for the network and has nothing to end: a signal ends it wherever it waits. What
/// it wrote, it wrote whole, and the same command goes on.
///
/// # Errors
/// As [`run`]; that it was interrupted.
pub fn run_or_stop<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run(async {
        tokio::select! {
            done = command => done,
            () = over(Until::after(None)) => {
                Err(Failure::new("interrupted").hint("run the same command again"))
            }
        }
    })
}

/// Waits until it is time to stop.
pub async fn over(until: Until) {
    while !until.is_over() {
        tokio::time::sleep(NAP).await;
    }
}

/// Lets last words be said, for a while.
pub async fn last_words(words: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(LAST_WORDS, words).await;
}
