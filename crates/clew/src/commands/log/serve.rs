//! `clew log serve` and `clew log witness`.

use super::audit::smallest_quorum;
use super::most_of;
use crate::cli::{Asked, LogServe, LogWitness};
use crate::clock;
use crate::commands::bound::Bound;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use clew_service::log::{
    Log, LogOptions, LogPages, LogService, SmallestQuorum, Status as LogStatus, WitnessAddress,
    group_file_of,
};
use clew_service::witness::{self, WitnessOptions, WitnessStore};
use std::path::Path;

pub async fn log(arguments: &LogServe) -> Result<Status, Failure> {
    let log = Log::open(&arguments.dir, |path| arguments.unlock.log_key(path))?;
    let at = &arguments.at;
    let bound = Bound::at(at.listen, &at.reached, &arguments.dir)?;
    let pages = LogPages {
        url: bound.url.to_string(),
        quorum: SmallestQuorum::default(),
    };
    if let Some(number) = quorum(&arguments.dir)? {
        pages.quorum.set(number);
    }
    let started = Started::new(log, &arguments.asked, pages)?;
    say!("{}", started.described());
    say!("url      {}", bound.url);
    mention!("pages for people at the same address");
    started.warn();
    let Started { service, .. } = started;
    let mut status = service.status();
    let told = tokio::spawn(async move {
        if let Ok(opened) = status
            .wait_for(|status| *status != LogStatus::Starting)
            .await
        {
            match &*opened {
                LogStatus::Halted(_) => mention!("clew: this log adds nothing any more"),
                _ => mention!("adds entries"),
            }
        }
    });
    let router = service.router();
    let served = bound.serve(router).await;
    told.abort();
    service.stop().await;
    served.map(|()| Status::Yes)
}

/// The smallest quorum that the group had when the log was bound, if there is its group file.
fn quorum(dir: &Path) -> Result<Option<u8>, Failure> {
    let path = group_file_of(dir);
    let group = path.exists().then(|| read_group_file(&path)).transpose()?;
    Ok(group.as_ref().map(smallest_quorum))
}

/// A log that serves, and what its operator is told.
pub struct Started {
    pub service: LogService,
    /// What the pages take for the smallest quorum.
    pub quorum: SmallestQuorum,
    entries: u64,
    witnesses: Vec<String>,
    threshold: usize,
}

impl Started {
    /// Starts a log with the witnesses that it remembers, after what the arguments change.
    ///
    /// # Errors
    /// The log's database; a threshold that does not fit the witnesses.
    pub fn new(mut log: Log, asked: &Asked, pages: LogPages) -> Result<Self, Failure> {
        let witnesses = witnesses(&mut log, asked)?;
        let count = witnesses.len();
        let threshold = asked.threshold.unwrap_or(most_of(count));
        if threshold > count || (threshold == 0 && count > 0) {
            let why =
                format!("--threshold {threshold}: need 1 to {count}, the number of witnesses");
            return Err(Failure::new(why));
        }
        let entries = log.newest().size;
        let names = witnesses.iter().map(|own| own.key.to_string()).collect();
        let quorum = pages.quorum.clone();
        let options = LogOptions {
            clock: clock::wall_time,
            witnesses,
            threshold,
            tell: |line| mention!("clew: {line}"),
            pages,
        };
        Ok(Self {
            service: LogService::start(log, options)?,
            quorum,
            entries,
            witnesses: names,
            threshold,
        })
    }

    /// The log's key, size and witnesses, a line each.
    pub fn described(&self) -> String {
        let mut lines = format!("log      {}\nentries  {}", self.service.key(), self.entries);
        for witness in &self.witnesses {
            lines += &format!("\nwitness  {witness}");
        }
        lines
    }

    /// Tells how many witnesses have to cosign.
    pub fn warn(&self) {
        match self.witnesses.len() {
            0 => {
                mention!("warning: no witness: if this log shows two histories, nobody notices");
            }
            count => mention!("{} of {count} witnesses have to cosign", self.threshold),
        }
    }
}

fn witnesses(log: &mut Log, asked: &Asked) -> Result<Vec<WitnessAddress>, Failure> {
    for key in &asked.without {
        log.remove_witness(key)?;
    }
    for (key, url) in &asked.witness {
        log.put_witness(key, &url.to_string())?;
    }
    let read = |(key, url): (String, String)| {
        let (key, url) = (key.parse().ok(), url.parse().ok());
        let address = key.zip(url).map(|(key, url)| WitnessAddress { key, url });
        address.ok_or_else(|| Failure::new("the log's database has an unknown witness"))
    };
    let remembered = log.witnesses()?;
    remembered.into_iter().map(read).collect()
}

pub async fn witness(arguments: &LogWitness) -> Result<Status, Failure> {
    let store = WitnessStore::open(&arguments.dir, |path| arguments.unlock.log_key(path))?;
    let at = &arguments.at;
    let bound = Bound::at(at.listen, &at.reached, &arguments.dir)?;
    say!("witness  {}", store.public());
    say!("url      {}", bound.url);
    let options = WitnessOptions {
        clock: clock::wall_time,
        logs: arguments.log.clone(),
        tell: |line| mention!("clew: {line}"),
    };
    let served = bound.serve(witness::router(store, options)).await;
    served.map(|()| Status::Yes)
}
