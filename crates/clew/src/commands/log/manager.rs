//! `clew log admit` and `clew log publish`: what the manager writes.

use super::audit::{broken, compare, log_key};
use super::{founder, policy, seconds};
use crate::cli::{LogAdmit, LogPublish};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::secrets::{self, Unlock};
use clew_keys::{Author, IssuerKeyFile};
use clew_log::entry::{Body, Entry, LEAVES_MAX};
use clew_log::tree::Frontier;
use clew_log::{Founder, Hash};
use clew_manager::Store;
use clew_service::http::ServiceUrl;
use clew_service::log::{LogClient, LogClientError, Mirror};
use std::path::Path;
use std::time::Duration;

/// How often a busy log is asked again, and after how long.
const ATTEMPTS: u32 = 30;
const WAIT: Duration = Duration::from_millis(500);

pub async fn admit(arguments: &LogAdmit) -> Result<Status, Failure> {
    let author: Author = secrets::read(&arguments.author)?;
    let writer = Writer::open(&arguments.dir, &arguments.url, &arguments.unlock)?;
    writer.found().await?;
    let body = Body::Author {
        role: arguments.role,
        key: author.signs.to_bytes(),
        name: author.name.clone(),
    };
    let place = writer.add(body).await?;
    say!("{}: entry {place}", author.name);
    Ok(Status::Yes)
}

pub async fn publish(arguments: &LogPublish) -> Result<Status, Failure> {
    let policy = policy(&arguments.believed, log_key(&arguments.believed)?)?;
    let writer = Writer::open(&arguments.dir, &arguments.url, &arguments.unlock)?;
    writer.found().await?;
    let mut mirror = Mirror::new(policy, Some(writer.founder), Vec::new());
    let read = mirror.update(&writer.log, seconds()).await;
    read.map_err(|error| broken(&error, None))?;
    let said = mirror
        .state()
        .ok_or_else(|| Failure::new("the log is empty"))?;
    let leaves = writer.leaves()?;
    let group = writer.store.group().clone();
    let (rows, epochs) = (said.rows(), said.epochs().len());
    if root(&leaves, rows as usize) != Some(said.register()) || epochs > group.epochs().len() {
        return Err(writer.forked());
    }
    compare(said, &group)?;
    let mut first = rows;
    for leaves in leaves[rows as usize..].chunks(LEAVES_MAX) {
        let leaves = leaves.to_vec();
        let next = first + leaves.len() as u32;
        writer.add(Body::Enrolled { first, leaves }).await?;
        first = next;
    }
    for (epoch, record) in (1..).zip(group.epochs()).skip(epochs) {
        let id = group.epoch_id(epoch);
        let id = id
            .ok_or_else(|| Failure::new(format!("epoch {epoch} has no id")))?
            .0;
        let start = record.start;
        writer.add(Body::Epoch { epoch, id, start }).await?;
    }
    let (rows, epochs) = (leaves.len(), group.epochs().len());
    say!(
        "the log has {rows} machines and {epochs} epochs of {}",
        group.genesis().name
    );
    Ok(Status::Yes)
}

/// The root of the register's first rows, if there are so many.
fn root(leaves: &[Hash], rows: usize) -> Option<Hash> {
    let mut edge = Frontier::EMPTY;
    for leaf in leaves.get(..rows)? {
        edge.push(*leaf)?;
    }
    Some(edge.root())
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
        let founder = founder(store.group())?;
        Ok(Self {
            issuer,
            founder,
            log: LogClient::new(url).map_err(Failure::new)?,
            url: url.to_string(),
            store,
        })
    }

    fn leaves(&self) -> Result<Vec<Hash>, Failure> {
        let mut leaves = Vec::new();
        self.store.machines(|machine| {
            leaves.push(machine.entry.leaf_hash());
            Ok::<_, Failure>(())
        })?;
        Ok(leaves)
    }

    /// The log's first entry, unless it has that.
    async fn found(&self) -> Result<(), Failure> {
        let record = self.founder.record;
        self.add(Body::Group { record }).await.map(drop)
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
