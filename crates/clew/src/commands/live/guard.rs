//! Keeps a set-up in force while others change the host's rules, routes and filter.

use super::supervise::Supervised;
use crate::failure::Failure;
use clew_live::config::Config;
use clew_live::setup::{Changes, Force, Place, Programs};
use nix::net::if_::if_nametoindex;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// How often to look at most. What changes meanwhile is looked at together.
const SOON: Duration = Duration::from_secs(1);

/// How often to look if nothing is heard.
const LATE: Duration = Duration::from_secs(10);

/// Looks whether the set-up is there, and makes again what is gone.
pub(super) struct Guard<'a> {
    place: &'a Place,
    config: &'a Config,
    /// `None` if an older program set up: nobody knows what it looked like.
    known: Option<(Force, Programs)>,
    /// `None` if the kernel does not tell.
    changes: Option<Changes>,
    last: Instant,
    due: Instant,
    /// What is not in force, as it was said.
    said: Option<String>,
}

impl<'a> Guard<'a> {
    pub fn new(up: &Supervised<'a>) -> Self {
        let now = Instant::now();
        let changes = Changes::listen();
        if let Err(error) = &changes {
            tracing::warn!("cannot hear of changes ({error}): looks every second");
        }
        Self {
            place: up.place,
            config: up.config,
            known: up.place.force().zip(Programs::find().ok()),
            changes: changes.ok(),
            last: now,
            due: now,
            said: None,
        }
    }

    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.changes.iter().flat_map(Changes::descriptors)
    }

    pub fn wait(&self) -> Option<Duration> {
        let wait = self.due.saturating_duration_since(Instant::now());
        self.known.as_ref().map(|_| wait)
    }

    /// Looks, if it is time.
    pub fn look(&mut self) {
        let now = Instant::now();
        if self.changes.as_ref().is_some_and(Changes::any) {
            self.due = self.due.min(self.last + SOON);
        }
        if now < self.due {
            return;
        }
        self.check();
        let is_fine = self.said.is_none() && self.changes.is_some();
        self.last = Instant::now();
        self.due = self.last + if is_fine { LATE } else { SOON };
    }

    fn check(&mut self) {
        let Some((force, programs)) = &mut self.known else {
            return;
        };
        // The data plane ends without it. Its next one finds it, and so does what follows here.
        let mended = mend(self.place, self.config);
        let followed = follow(self.place, self.config, force, programs);
        let missing = force.missing(programs);
        let mut trouble = mended.and(followed).err().map(|failure| failure.message);
        if !missing.is_empty() {
            let what = missing.join(", ");
            let restored = force.restore(programs);
            let left = force.missing(programs);
            match (left.is_empty(), restored) {
                (true, _) => tracing::error!("{what}: somebody removed it; it is made again"),
                (false, Err(error)) => trouble = Some(format!("{}: {error}", left.join(", "))),
                (false, Ok(())) => trouble = Some(left.join(", ")),
            }
        }
        if trouble == self.said {
            return;
        }
        match &trouble {
            Some(trouble) => tracing::error!("NOT in force: {trouble}"),
            None => tracing::warn!("in force again"),
        }
        if let Err(error) = self.place.say_trouble(trouble.as_deref()) {
            tracing::error!("{error}");
        }
        self.said = trouble;
    }
}

/// Makes the interface and its routes again if somebody removed it.
pub(super) fn mend(place: &Place, config: &Config) -> Result<(), Failure> {
    let interface = &config.interface;
    let Some(force) = place.force() else {
        return Ok(());
    };
    if if_nametoindex(interface.as_str()).is_ok() {
        return Ok(());
    }
    force.make_interface()?;
    tracing::warn!("interface {interface} was removed: it is made again");
    Ok(())
}

/// Changes routes whose source the host has no more, or would not choose any more.
fn follow(
    place: &Place,
    config: &Config,
    force: &mut Force,
    programs: &Programs,
) -> Result<(), Failure> {
    let (has_changed, steps) = force.follow(config, programs)?;
    place.carry_out(&steps)?;
    force.has_made(&steps);
    if has_changed {
        tracing::warn!("this host's addresses changed: packets to peers have new sources");
    }
    if has_changed || !steps.is_empty() {
        place.keep_force(force)?;
    }
    Ok(())
}
