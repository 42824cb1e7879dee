//! What can go wrong with a store, in sentences for people.

use clew_group::xr::JoinError;
use clew_trustee::dkg::DkgError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the store did not do what was asked. Nothing was changed, except for
/// [`StoreError::NotPublished`].
#[derive(Debug, Error)]
pub enum StoreError {
    /// The directory for a new store holds something already.
    #[error("{0}: exists and is not empty")]
    Exists(PathBuf),
    /// The directory is not a store.
    #[error("{0}: not a group's directory")]
    NotAStore(PathBuf),
    /// The store was written by an older or a newer program.
    #[error(
        "{path}: need layout {known}, have layout {version}: use the {} clew that made it",
        if version > known { "newer" } else { "older" }
    )]
    OtherLayout {
        /// The store.
        path: PathBuf,
        /// Its layout version.
        version: i64,
        /// The version that this program writes.
        known: i64,
    },
    /// The published group file has records or machines that the store lacks, or is of another group.
    #[error(
        "{0}: this group file has epochs or machines that the store does not have: the store is an \
         older copy, or another group's"
    )]
    PublishedIsNewer(PathBuf),
    /// A store and what it is to take over are not of one history.
    #[error("{0} has another history than this store, or is older")]
    OtherHistory(&'static str),
    /// Rows are bound of which not even the leaf hashes are known.
    #[error("need the hashes of {need} rows of the register, have {have}")]
    RowsMissing {
        /// How many rows records and checkpoints bind.
        need: u32,
        /// How many store and log have.
        have: u32,
    },
    /// The group has a log, and was not compared with it.
    #[error("need the entries of the group's log")]
    LogNeeded,
    /// The published group file does not read. It may be newer than the store.
    #[error("{0}: this group file is damaged, and may be newer than the store")]
    PublishedIsDamaged(PathBuf),
    /// The change is committed, and its files could not be published. The next [`crate::Store::open`]
    /// publishes them.
    #[error("the change was made but not published: {0}")]
    NotPublished(Box<StoreError>),
    /// A machine of that name is enrolled.
    #[error("machine {0} is already enrolled")]
    NameTaken(String),
    /// No machine of that name is enrolled.
    #[error("machine {0} is not enrolled")]
    NoSuchMachine(String),
    /// The machine was revoked before.
    #[error("machine {machine} is already revoked, in epoch {epoch}")]
    AlreadyRevoked {
        /// Its name.
        machine: String,
        /// The epoch that locked it out.
        epoch: u32,
    },
    /// The clock is behind what the store has seen.
    #[error("this host's clock is behind what the store has seen")]
    ClockBehind {
        /// The time that it should have, at least, in nanoseconds since 1970.
        last: u64,
    },
    /// The epoch would start before it is made.
    #[error("an epoch cannot start in the past")]
    StartInThePast,
    /// The epoch would start more than 30 days ahead, and nobody confirmed that.
    #[error("the epoch would start more than 30 days ahead")]
    StartFarAhead,
    /// The clock is too far ahead of what the store has seen.
    #[error("this host's clock is ahead of what the store has seen")]
    ClockAhead {
        /// The time that it should have, about, in nanoseconds since 1970.
        last: u64,
        /// The clock.
        now: u64,
    },
    /// More machines than one record can revoke.
    #[error("one epoch can revoke at most {0} machines this way")]
    TooManyAtOnce(usize),
    /// No machine is named, and nothing else would change.
    #[error("no machine is named")]
    NobodyToRevoke,
    /// The newest epoch has that log, or none, already.
    #[error("the newest epoch already has this log")]
    SameLog,
    /// The group ended in that epoch.
    #[error("this group ended, in epoch {0}")]
    Ended(u32),
    /// A group cannot succeed itself.
    #[error("the successor is this group itself")]
    Successor,
    /// 2^16 steps were made since the last rebase.
    #[error("65,536 machines were revoked since the last rebase, the maximum")]
    RebaseIsDue,
    /// A `bbs04` group has one opening key, from a trusted dealer.
    #[error("a bbs04 group cannot change its opening key, which a trusted dealer generated")]
    OneOpeningKey,
    /// The group has all the epochs or machines that it may have.
    #[error("the group has the maximum number of {0}")]
    Full(&'static str),
    /// The register got a later checkpoint than the rows that were made.
    #[error("another process changed the register meanwhile; nothing was issued")]
    RegisterMoved,
    /// The issuer key belongs to another group than the store.
    #[error("the issuer key belongs to another group")]
    OtherGroupsKey,
    /// A base was opened in another group, or in another history of this one.
    #[error("the signature was opened in another group, or in another history of this group")]
    OtherGroupsBase,
    /// A group of this scheme has no join.
    #[error("machines cannot join a bbs04 group: the issuer generates their keys")]
    NoJoin,
    /// The two sides of a join do not agree.
    #[error("the join failed: {0}")]
    Join(#[from] JoinError),
    /// This group has no such invitation.
    #[error("this group did not send the invitation, or withdrew it")]
    NoInvitation,
    /// No invitation of a machine of that name is open.
    #[error("machine {0} does not have an open invitation")]
    NotInvited(String),
    /// Another request has answered this invitation.
    #[error("another request already answered this invitation and got an offer")]
    OtherRequest,
    /// Another process answered this invitation while this one did. The same round again gets the offer, if
    /// it was the same request.
    #[error("another process answered this invitation meanwhile")]
    AnsweredMeanwhile,
    /// The join has no offer yet that could be accepted.
    #[error("this join does not have an offer yet")]
    NotOffered,
    /// Another epoch is in force than when the offer was made.
    #[error("the offer was made in epoch {offered}, but epoch {in_force} is in force")]
    OfferExpired {
        /// The epoch of the offer.
        offered: u32,
        /// The epoch in force.
        in_force: u32,
    },
    /// The device did not vouch for its register entry: S or the proof of y does not hold.
    #[error("invalid device signature of its register row")]
    Device,
    /// What trustees dealt is not for this group.
    #[error(transparent)]
    Dkg(#[from] DkgError),
    /// Whoever waited for the work has enough.
    #[error("interrupted: nothing was changed")]
    Interrupted,
    /// Another process has been changing the store for a while.
    #[error("{0}: another process is changing the store")]
    Busy(PathBuf),
    /// Another service serves the store.
    #[error("{0}: another clew manager serve is running on this store")]
    Served(PathBuf),
    /// This group has no such right of a factory, or withdrew it, or the claim was not made with it.
    #[error("this group did not give this factory batch, or withdrew it")]
    NoFactory,
    /// A factory may not invite machines of that name.
    #[error("this factory batch is for names that begin with {prefix}, and not for {name}")]
    FactoryPrefix {
        /// What names have to begin with.
        prefix: String,
        /// The name that was claimed.
        name: String,
    },
    /// A factory has invited all machines that it may.
    #[error("this factory batch has invited all {0} machines that it may")]
    FactoryUsed(u32),
    /// The factory's time is over.
    #[error("this factory batch has ended")]
    FactoryOver,
    /// No factory has a right for that prefix.
    #[error("no factory batch is open for {0}")]
    NoFactoryOf(String),
    /// The key is admitted under another name or in another role.
    #[error("this key is already admitted, as {0}")]
    AuthorAdmitted(String),
    /// Another key in force has that name.
    #[error("another author is called {0}")]
    AuthorNameTaken(String),
    /// No author in force has that name.
    #[error("no author is called {0}")]
    NoAuthor(String),
    /// No opening key begins with that epoch.
    #[error("no opening key of the group begins with epoch {0}")]
    NoOpeningKey(u32),
    /// The manager's key is no author's.
    #[error("the manager's key does not get a role")]
    AuthorIsManager,
    /// The group's log has another history of the group than this store.
    #[error(
        "{0}: the group's log has another history of this group: a copy of this store wrote it. \
         Nothing is changed here until that is settled"
    )]
    Halted(PathBuf),
    /// The salt of a machine's row is not the one that its credential was made with.
    #[error("the store is damaged: the salt of machine {0} is another one")]
    DamagedRow(String),
    /// What the store holds does not fit together: it was damaged.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The store's database is damaged, or is another program's.
    #[error("{0}: this database is damaged or of another program")]
    OtherDatabase(PathBuf),
    /// What should be a backup is not one, is not whole, or cannot be written.
    #[error("backup: {0}")]
    Backup(String),
    /// A page of the database is damaged.
    #[error("{0}: this database is damaged")]
    DamagedDatabase(PathBuf),
    /// What names the database is not the URL of one.
    #[error("not the URL of a database: {0}")]
    DatabaseUrl(String),
    /// The database is on another host, and clew does not encrypt what it sends there.
    #[error(
        "need a database on this host, by its socket or a loopback address: what is sent is not \
         encrypted"
    )]
    OtherHost,
    /// The database's server cannot be connected to.
    #[error("{database}: cannot connect: {}", told(&**error))]
    Unreachable {
        /// The database.
        database: PathBuf,
        /// The reason.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server does not sync what it acknowledges.
    #[error("{0}: this server runs with fsync off: what it acknowledges can be lost")]
    NoSync(PathBuf),
    /// The connection to the database was lost; nothing was changed.
    #[error("{0}: the connection was lost: nothing was changed")]
    Lost(PathBuf),
    /// The database's server did not answer in time.
    #[error("{0}: the database does not answer: nothing was changed")]
    Silent(PathBuf),
    /// The connection was lost while a change was committed, and the server does not say what came of it.
    #[error("{0}: the connection was lost: the change may have been made or not")]
    Unanswered(PathBuf),
    /// The database has no tables of a group.
    #[error("{0}: this database does not have a group")]
    NoGroup(PathBuf),
    /// The database has tables of a group already.
    #[error("{0}: this database already has a group")]
    HasGroup(PathBuf),
    /// The database refused.
    #[error("{path}: database: {}", told(&**error))]
    Database {
        /// The database.
        path: PathBuf,
        /// Its reason.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// An error with its causes: that of PostgreSQL's client alone says little.
fn told(error: &(dyn std::error::Error + Send + Sync + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        let why = why.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        cause = cause.and_then(std::error::Error::source);
    }
    text
}

impl StoreError {
    /// Whether the database or the disk is why: what was asked may be asked again.
    pub fn is_of_database(&self) -> bool {
        matches!(
            self,
            Self::Database { .. }
                | Self::DamagedDatabase(_)
                | Self::Damaged(_)
                | Self::DamagedRow(_)
                | Self::Io { .. }
                | Self::Lost(_)
                | Self::NoSync(_)
                | Self::Silent(_)
                | Self::Unanswered(_)
                | Self::Unreachable { .. }
        )
    }

    /// Whether a server answered, and let nobody in: another user, or another database than it has.
    pub fn is_refused_by_server(&self) -> bool {
        match self {
            Self::Unreachable { error, .. } => crate::storage::is_refusal(&**error),
            _ => false,
        }
    }

    /// Whether the disk is full, of this host or of the database's server.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { error, .. } => error.kind() == io::ErrorKind::StorageFull,
            Self::Database { error, .. } => crate::storage::is_disk_full(&**error),
            Self::NotPublished(error) => error.is_disk_full(),
            _ => false,
        }
    }

    pub(crate) fn not_published(error: Self) -> Self {
        Self::NotPublished(Box::new(error))
    }

    /// The group file of the store lacks an epoch that it has to have.
    pub(crate) fn no_epoch(epoch: u32) -> Self {
        Self::Damaged(format!("epoch {epoch} is missing"))
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}
