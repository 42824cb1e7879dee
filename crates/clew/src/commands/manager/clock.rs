//! `clew manager clock`: this host's clock beside what the store has seen.

use crate::cli::ManagerClock;
use crate::clock;
use crate::failure::{Failure, Status};
use clew_manager::Store;

pub fn run(arguments: &ManagerClock) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    let now = clock::now_ns();
    let (seen, about) = store.seen_time()?;
    say!("last believed  {}", clock::to_the_second(seen));
    if let Some(about) = about {
        say!("time by uptime {}", clock::to_the_second(about));
    }
    say!("this host      {}", clock::to_the_second(now));
    if arguments.confirm {
        store.confirm_clock(now)?;
        say!("confirmed");
        return Ok(Status::Yes);
    }
    match store.judge_clock(now) {
        Ok(()) => {
            say!("believed");
            Ok(Status::Yes)
        }
        Err(error) => Err(Failure::from(error).no()),
    }
}
