//! `clew log publish`: what the manager writes.

use super::founder;
use crate::cli::LogPublish;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::secrets::Unlock;
use clew_keys::IssuerKeyFile;
use clew_log::Founder;
use clew_log::entry::{Body, Entry};
use clew_manager::Store;
use clew_service::http::ServiceUrl;
use clew_service::log::{LogClient, LogClientError};
use clew_service::manager::{SendError, send_outbox};
use std::path::Path;
use std::time::Duration;

/// How often a busy log is asked again, and after how long.
const ATTEMPTS: u32 = 30;
const WAIT: Duration = Duration::from_millis(500);

/// Adds an entry in the manager's name to the log at `url`. An entry that the log has is not added again.
///
/// # Errors
/// The log's refusal; one with rule `fork` says that it has another history.
pub async fn add_by_manager(
    store: Store,
    issuer: IssuerKeyFile,
    url: &ServiceUrl,
    body: Body,
) -> Result<u64, Failure> {
    Writer::new(store, issuer, url)?.add(body).await
}

pub async fn publish(arguments: &LogPublish) -> Result<Status, Failure> {
    let mut writer = Writer::open(&arguments.dir, &arguments.url, &arguments.unlock)?;
    let _lock = Store::lock_service(&arguments.dir)?;
    let Writer {
        store, issuer, log, ..
    } = &mut writer;
    let sent = send_outbox(store, issuer, log, clock::wall_time).await;
    let count = match sent {
        Ok(count) => count,
        Err(SendError::Fork) => return Err(writer.forked()),
        Err(SendError::NoLog) => {
            let failure = Failure::file(&arguments.dir, SendError::NoLog);
            return Err(failure.hint("run clew group set-log with the log's key first"));
        }
        Err(error) => return Err(Failure::new(error)),
    };
    let name = &writer.store.group().genesis().name;
    say!("{count} new entries: the log has all machines and epochs of {name}");
    Ok(Status::Yes)
}

/// Writes entries with the manager's key.
struct Writer {
    store: Store,
    issuer: IssuerKeyFile,
    founder: Founder,
    log: LogClient,
    url: String,
}

impl Writer {
    fn open(dir: &Path, url: &ServiceUrl, unlock: &Unlock) -> Result<Self, Failure> {
        let store = Store::open(dir)?;
        let issuer = unlock.issuer(&store)?;
        Self::new(store, issuer, url)
    }

    fn new(store: Store, issuer: IssuerKeyFile, url: &ServiceUrl) -> Result<Self, Failure> {
        let founder = founder(store.group())?;
        Ok(Self {
            issuer,
            founder,
            log: LogClient::new(url).map_err(Failure::new)?,
            url: url.to_string(),
            store,
        })
    }

    async fn add(&self, body: Body) -> Result<u64, Failure> {
        let (group, time) = (self.founder.group(), clock::wall_time());
        let entry = Entry::sign(group, time, body, &self.issuer.manager);
        let entry = entry.ok_or_else(|| Failure::new("an entry would be too long"))?;
        let mut left = ATTEMPTS;
        loop {
            match self.log.add(&entry).await {
                Ok((place, _)) => return Ok(place),
                Err(error) if error.rule() == Some("busy") && left > 0 => left -= 1,
                Err(error) => return Err(self.refused(&error)),
            }
            tokio::time::sleep(WAIT).await;
        }
    }

    fn forked(&self) -> Failure {
        Failure::new(format!(
            "{}: the log has another history of this group: a copy of this store wrote it",
            self.url
        ))
        .hint("stop the other manager, and compare clew group list of both directories")
        .no()
    }

    fn refused(&self, error: &LogClientError) -> Failure {
        match error.rule() {
            Some("fork") => self.forked(),
            Some(rule) => Failure::new(format!("{error} ({rule})")),
            None => Failure::new(error),
        }
    }
}
