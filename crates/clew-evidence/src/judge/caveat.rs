//! What evidence that holds cannot say (`spec/opening.md` section 8).

use crate::group_file::GroupFile;
use crate::parts::Origin;
use crate::request::Request;
use crate::search::FoundRow;
use alloc::vec::Vec;
use clew_group::Scheme;
use core::fmt;

/// What evidence cannot say, to be said beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// The issuer knows the machine's key and could have made the signature itself (`bbs04`).
    IssuerCouldSign,
    /// A trusted dealer made the opening key of the packet's epoch and could open alone.
    TrustedDealer,
    /// The machine's key was made on the issuer's host: whoever had that host can sign as it.
    JoinedOnIssuerHost,
    /// The machine joined after the packet's epoch: the packet was made later than it says.
    JoinedLater {
        /// The epoch in which it joined.
        epoch: u32,
    },
    /// The machine was revoked later. Whoever stole its key can date packets back.
    RevokedLater {
        /// The epoch that revoked it.
        epoch: u32,
    },
    /// The machine was revoked already in the packet's epoch, in which it has no witness: it could
    /// not sign without the issuer's help.
    RevokedBefore {
        /// The epoch that locked it out.
        epoch: u32,
    },
    /// The group ended because somebody else may have had its manager's keys, and no anchor shows that
    /// the packet is from before.
    KeysStolen {
        /// The epoch that ended the group.
        epoch: u32,
    },
    /// Nothing shows that the packet existed at some time: no log saw it.
    NotAnchored,
    /// The group gave up its log, and no proof shows that a log has the request.
    LogGivenUp {
        /// The first epoch without the log.
        epoch: u32,
    },
    /// The group has or had a log, and no proof shows that it has the request.
    NotRequested,
    /// The log has the request, and fewer decisions of trustees were shown than an opening needs.
    NotDecided {
        /// How many trustees' yes was shown.
        shown: u8,
        /// How many trustees an opening needs.
        needed: u8,
    },
    /// The name had another row before, with another key.
    NameReissued {
        /// The row that this one replaces.
        row: u32,
    },
}

impl Caveat {
    /// Returns the stable name that the specification gives it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::IssuerCouldSign => "issuer-could-sign",
            Self::TrustedDealer => "trusted-dealer",
            Self::JoinedOnIssuerHost => "joined-on-issuer-host",
            Self::JoinedLater { .. } => "joined-later",
            Self::RevokedLater { .. } => "revoked-later",
            Self::RevokedBefore { .. } => "revoked-before",
            Self::KeysStolen { .. } => "keys-stolen",
            Self::NotAnchored => "not-anchored",
            Self::LogGivenUp { .. } => "log-given-up",
            Self::NotRequested => "not-requested",
            Self::NotDecided { .. } => "not-decided",
            Self::NameReissued { .. } => "name-reissued",
        }
    }

    /// Returns the epoch that it is about, if it is about one.
    pub fn epoch(&self) -> Option<u32> {
        match self {
            Self::JoinedLater { epoch }
            | Self::RevokedLater { epoch }
            | Self::RevokedBefore { epoch }
            | Self::KeysStolen { epoch }
            | Self::LogGivenUp { epoch } => Some(*epoch),
            _ => None,
        }
    }

    /// All that hold beside an opening or match that holds, in the order of the specification.
    ///
    /// If the machine did not sign, nothing is said of it as a signer.
    pub(super) fn of(
        group: &GroupFile,
        request: &Request,
        found: &FoundRow,
        signed: bool,
    ) -> Vec<Self> {
        let entry = &found.row.entry;
        let sharing = group.sharing_record(request.epoch);
        let dealt = sharing.is_some_and(|(_, sharing)| sharing.origin == Origin::TrustedDealer);
        let issuer_host = entry.how == crate::KeyOrigin::IssuerHost;
        let later = entry.joined > request.epoch;
        let revoked = group.revoked_in(entry, found.x.as_ref());
        let revoked = revoked.map(|epoch| match epoch > request.epoch {
            true => Self::RevokedLater { epoch },
            false => Self::RevokedBefore { epoch },
        });
        let epoch = entry.joined;
        let all = [
            (group.scheme() == Scheme::Bbs04).then_some(Self::IssuerCouldSign),
            dealt.then_some(Self::TrustedDealer),
            issuer_host.then_some(Self::JoinedOnIssuerHost),
            later.then_some(Self::JoinedLater { epoch }),
            revoked,
            keys_stolen(group),
            Some(Self::NotAnchored),
            group.log_given_up().map(|epoch| Self::LogGivenUp { epoch }),
            group.logs().next().map(|_| Self::NotRequested),
            entry.replaces.map(|row| Self::NameReissued { row }),
        ];
        let all = all.into_iter().flatten();
        all.filter(|caveat| signed || !caveat.is_of_signer())
            .collect()
    }

    /// Whether it is about the machine as the one that signed.
    fn is_of_signer(&self) -> bool {
        match self {
            Self::IssuerCouldSign
            | Self::JoinedOnIssuerHost
            | Self::JoinedLater { .. }
            | Self::RevokedLater { .. }
            | Self::RevokedBefore { .. } => true,
            Self::TrustedDealer
            | Self::KeysStolen { .. }
            | Self::NotAnchored
            | Self::LogGivenUp { .. }
            | Self::NotRequested
            | Self::NotDecided { .. }
            | Self::NameReissued { .. } => false,
        }
    }

    /// Whether it is about a request that no log is shown to have.
    fn is_of_request(&self) -> bool {
        matches!(self, Self::LogGivenUp { .. } | Self::NotRequested)
    }

    /// Takes out what a proof of the request refutes. Adds that too few decisions were shown, in the
    /// order of the specification.
    pub(super) fn after_request(caveats: &mut Vec<Self>, shown: u8, needed: u8) {
        caveats
            .retain(|caveat| !caveat.is_of_request() && !matches!(caveat, Self::NotDecided { .. }));
        if shown < needed {
            let is_last = |caveat: &Self| matches!(caveat, Self::NameReissued { .. });
            let place = caveats.iter().position(is_last);
            let place = place.unwrap_or(caveats.len());
            caveats.insert(place, Self::NotDecided { shown, needed });
        }
    }
}

fn keys_stolen(group: &GroupFile) -> Option<Caveat> {
    let (epoch, end) = group.end()?;
    end.stolen_since.map(|_| Caveat::KeysStolen { epoch })
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IssuerCouldSign => {
                f.write_str("the issuer could have made this signature (scheme bbs04)")
            }
            Self::TrustedDealer => f.write_str(
                "a trusted dealer generated the opening key and could open packets alone",
            ),
            Self::JoinedOnIssuerHost => f.write_str(
                "the issuer's host generated the machine's key: whoever controlled it then can \
                 sign as this machine",
            ),
            Self::JoinedLater { epoch } => write!(
                f,
                "the machine joined in epoch {epoch}, after the epoch of the packet: the packet is \
                 backdated"
            ),
            Self::RevokedLater { epoch } => write!(
                f,
                "the machine was revoked in epoch {epoch}: the holder of its key can backdate \
                 packets"
            ),
            Self::RevokedBefore { epoch } => write!(
                f,
                "the machine was already revoked, in epoch {epoch}: signing in this epoch required \
                 the issuer's help"
            ),
            Self::KeysStolen { epoch } => write!(
                f,
                "the group ended in epoch {epoch} because its manager's keys may be stolen: whoever \
                 has them can enrol machines, and date their packets back"
            ),
            Self::NotAnchored => f.write_str(
                "not anchored: no log proves that the packet existed at its stated time",
            ),
            Self::LogGivenUp { epoch } => write!(
                f,
                "the group gave up its log in epoch {epoch}: from then on trustees can accept requests \
                 that no log has"
            ),
            Self::NotRequested => f.write_str(
                "this group's trustees answer logged requests only, and no proof is shown that the \
                 log has this one",
            ),
            Self::NotDecided { shown, needed } => write!(
                f,
                "the log's proof is shown of {shown} trustees' decisions, and an opening needs {needed}"
            ),
            Self::NameReissued { row } => write!(
                f,
                "the name was reused: row {row} had it before, with another key"
            ),
        }
    }
}
