//! What can go wrong with a store, in sentences for people.

use clew_group::xr::JoinError;
use clew_trustee::dkg::DkgError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store did not do what was asked. Nothing was changed, except for
/// [`StoreError::NotPublished`].
#[derive(Debug)]
pub enum StoreError {
    /// The directory for a new store holds something already.
    Exists(PathBuf),
    /// The directory is not a store.
    NotAStore(PathBuf),
    /// The store was written by an older or a newer program.
    OtherLayout {
        /// The store.
        path: PathBuf,
        /// Its layout version.
        version: i64,
        /// The version that this program writes.
        known: i64,
    },
    /// The published group file has records or machines that the store lacks, or is of another group.
    PublishedIsNewer(PathBuf),
    /// The published group file does not read. It may be newer than the store.
    PublishedIsDamaged(PathBuf),
    /// The change is committed, and its files could not be published. The next [`crate::Store::open`]
    /// publishes them.
    NotPublished(Box<StoreError>),
    /// A machine of that name is enrolled.
    NameTaken(String),
    /// No machine of that name is enrolled.
    NoSuchMachine(String),
    /// The machine was revoked before.
    AlreadyRevoked {
        /// Its name.
        machine: String,
        /// The epoch that locked it out.
        epoch: u32,
    },
    /// The clock is behind the newest record of the group.
    ClockBehind {
        /// When that record was made, nanoseconds since 1970.
        last: u64,
    },
    /// The epoch would start before it is made.
    StartInThePast,
    /// The epoch would start more than 30 days ahead, and nobody confirmed that.
    StartFarAhead,
    /// More machines than one record can revoke.
    TooManyAtOnce(usize),
    /// No machine is named, and nothing else would change.
    NobodyToRevoke,
    /// 2^16 steps were made since the last rebase.
    RebaseIsDue,
    /// A `bbs04` group has one opening key, from a trusted dealer.
    OneOpeningKey,
    /// The group has all the epochs or machines that it may have.
    Full(&'static str),
    /// The register got a later checkpoint than the rows that were made.
    RegisterMoved,
    /// The issuer key belongs to another group than the store.
    OtherGroupsKey,
    /// A base was opened in another group, or in another history of this one.
    OtherGroupsBase,
    /// A group of this scheme has no join.
    NoJoin,
    /// The two sides of a join do not agree.
    Join(JoinError),
    /// This group has no such invitation.
    NoInvitation,
    /// No invitation of a machine of that name is open.
    NotInvited(String),
    /// Another request has answered this invitation.
    OtherRequest,
    /// The join has no offer yet that could be accepted.
    NotOffered,
    /// Another epoch is in force than when the offer was made.
    OfferExpired {
        /// The epoch of the offer.
        offered: u32,
        /// The epoch in force.
        in_force: u32,
    },
    /// The device did not vouch for its register entry: S or the proof of y does not hold.
    Device,
    /// What trustees dealt is not for this group.
    Dkg(DkgError),
    /// Whoever waited for the work has enough.
    Interrupted,
    /// What the store holds does not fit together: it was damaged.
    Damaged(String),
    /// The store's database is damaged, or is another program's.
    OtherDatabase(PathBuf),
    /// The database refused.
    Database {
        /// The database.
        path: PathBuf,
        /// Its reason.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

impl StoreError {
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

impl From<JoinError> for StoreError {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}

impl From<DkgError> for StoreError {
    fn from(error: DkgError) -> Self {
        Self::Dkg(error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => {
                write!(f, "{}: exists and is not empty", path.display())
            }
            Self::NotAStore(path) => write!(f, "{}: not a group's directory", path.display()),
            Self::OtherLayout {
                path,
                version,
                known,
            } => {
                let other = if version > known { "newer" } else { "older" };
                let path = path.display();
                write!(
                    f,
                    "{path}: need layout {known}, have layout {version}: use the {other} clew that \
                     made it"
                )
            }
            Self::NameTaken(name) => write!(f, "machine {name} is already enrolled"),
            Self::NoSuchMachine(name) => write!(f, "machine {name} is not enrolled"),
            Self::AlreadyRevoked { machine, epoch } => {
                write!(f, "machine {machine} is already revoked, in epoch {epoch}")
            }
            Self::ClockBehind { .. } => {
                f.write_str("this host's clock is behind the group's newest record")
            }
            Self::StartInThePast => f.write_str("an epoch cannot start in the past"),
            Self::StartFarAhead => f.write_str("the epoch would start more than 30 days ahead"),
            Self::TooManyAtOnce(most) => {
                write!(f, "one epoch can revoke at most {most} machines this way")
            }
            Self::NobodyToRevoke => f.write_str("no machine is named"),
            Self::RebaseIsDue => {
                f.write_str("65,536 machines were revoked since the last rebase, the maximum")
            }
            Self::OneOpeningKey => f.write_str(
                "a bbs04 group cannot change its opening key, which a trusted dealer generated",
            ),
            Self::RegisterMoved => {
                f.write_str("another process changed the register meanwhile; nothing was issued")
            }
            Self::Full(what) => write!(f, "the group has the maximum number of {what}"),
            Self::OtherGroupsKey => f.write_str("the issuer key belongs to another group"),
            Self::OtherGroupsBase => f.write_str(
                "the signature was opened in another group, or in another history of this group",
            ),
            Self::Dkg(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted: nothing was changed"),
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::OtherDatabase(path) => write!(
                f,
                "{}: this database is damaged or of another program",
                path.display()
            ),
            Self::Database { path, error } => {
                write!(f, "{}: database: {error}", path.display())
            }
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            other => other.fmt_of_publishing(f),
        }
    }
}

impl StoreError {
    /// What is wrong with the published files.
    fn fmt_of_publishing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublishedIsNewer(path) => write!(
                f,
                "{}: this group file has epochs or machines that the store does not have: the \
                 store is an older copy, or another group's",
                path.display()
            ),
            Self::PublishedIsDamaged(path) => write!(
                f,
                "{}: this group file is damaged, and may be newer than the store",
                path.display()
            ),
            Self::NotPublished(error) => {
                write!(f, "the change was made but not published: {error}")
            }
            other => other.fmt_of_join(f),
        }
    }

    /// What is wrong with a join.
    fn fmt_of_join(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJoin => {
                f.write_str("machines cannot join a bbs04 group: the issuer generates their keys")
            }
            Self::NoInvitation => {
                f.write_str("this group did not send the invitation, or withdrew it")
            }
            Self::NotInvited(name) => write!(f, "machine {name} does not have an open invitation"),
            Self::OtherRequest => {
                f.write_str("another request already answered this invitation and got an offer")
            }
            Self::NotOffered => f.write_str("this join does not have an offer yet"),
            Self::OfferExpired { offered, in_force } => write!(
                f,
                "the offer was made in epoch {offered}, but epoch {in_force} is in force"
            ),
            Self::Join(error) => write!(f, "the join failed: {error}"),
            Self::Device => f.write_str("invalid device signature of its register row"),
            _ => f.write_str("the join failed"),
        }
    }
}

impl std::error::Error for StoreError {}
