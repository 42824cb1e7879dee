//! What the manager asks of the trustees.

use super::{DkgError, base, hash};
use clew_evidence::wire::Reader;
use clew_evidence::{GroupFile, GroupId, Name, Origin};
use clew_group::curve::{G1, G1_BYTES};
use clew_group::quorum::{Broadcast, Founding, Quorum, Resharing, Set, Sharing, Trustee};
use clew_group::quorum::{DealtShare, QuorumError, SecretShare};
use clew_group::{EpochId, Scheme};
use clew_keys::TextFile;
use rand_core::CryptoRng;

const FOUNDING: u8 = 1;
const NEW_KEY: u8 = 2;
const RESHARING: u8 = 3;

/// The plan of one opening key: what it is for, and who shares it. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the group.
    pub name: Name,
    /// The group's nonce, 32 bytes: that of a group to come, or of one that exists.
    pub nonce: [u8; 32],
    /// n and t of the key to be made.
    pub quorum: Quorum,
    /// What it is for.
    pub purpose: Purpose,
    random: [u8; 32],
}

/// What an opening key is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A new group.
    Founding,
    /// A new opening key of a group.
    NewKey(Place),
    /// The opening key of a group, for other trustees or another threshold.
    Resharing {
        /// Where the group was.
        place: Place,
        /// The old trustees who hand their shares on.
        dealers: Set,
        /// What they hold.
        old: OldKey,
    },
}

/// A group's newest epoch when the plan was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The group.
    pub group: GroupId,
    /// The epoch.
    pub epoch: u32,
    /// The epoch's id, which names all history up to it.
    pub id: EpochId,
}

/// The opening key that is handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldKey {
    /// The epoch since which its shares count.
    pub since: u32,
    /// How it was made. A key that a trusted dealer made stays one when it is handed on.
    pub origin: Origin,
    /// How it is shared.
    pub sharing: Sharing,
}

impl Plan {
    /// Plans the opening key of a group to come, whose nonce is drawn here.
    pub fn founding(name: Name, quorum: Quorum, rng: &mut impl CryptoRng) -> Self {
        Self {
            name,
            nonce: random(rng),
            quorum,
            purpose: Purpose::Founding,
            random: random(rng),
        }
    }

    /// Plans a new opening key of a group.
    ///
    /// # Errors
    /// [`DkgError::Scheme`] if the group is of `bbs04`.
    pub fn new_key(
        group: &GroupFile,
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, DkgError> {
        let place = Place::newest(group)?;
        Ok(Self::of(group, quorum, Purpose::NewKey(place), rng))
    }

    /// Plans that `dealers` hand the opening key of a group on to `quorum`.
    ///
    /// # Errors
    /// [`DkgError::Scheme`] if the group is of `bbs04`; [`DkgError::OtherHistory`] if the sharing of
    /// its newest epoch does not decode; [`DkgError::Quorum`] if the dealers are fewer than open, or
    /// one of them is no trustee.
    pub fn resharing(
        group: &GroupFile,
        dealers: Set,
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, DkgError> {
        let place = Place::newest(group)?;
        let old = OldKey::of(group, place.epoch).ok_or(DkgError::OtherHistory)?;
        dealers.check(old.sharing.quorum())?;
        let purpose = Purpose::Resharing {
            place,
            dealers,
            old,
        };
        Ok(Self::of(group, quorum, purpose, rng))
    }

    fn of(group: &GroupFile, quorum: Quorum, purpose: Purpose, rng: &mut impl CryptoRng) -> Self {
        let genesis = group.genesis();
        Self {
            name: genesis.name.clone(),
            nonce: genesis.nonce,
            quorum,
            purpose,
            random: random(rng),
        }
    }

    /// Names the plan: a hash of all that it says.
    pub fn id(&self) -> [u8; 32] {
        hash(Self::LABEL, &[&self.payload()])
    }

    /// The trustees who deal: all, or the old ones of a resharing.
    pub fn dealers(&self) -> Set {
        match &self.purpose {
            Purpose::Resharing { dealers, .. } => *dealers,
            Purpose::Founding | Purpose::NewKey(_) => self.quorum.all(),
        }
    }

    /// The group that exists already, as it was when the plan was made.
    pub fn place(&self) -> Option<&Place> {
        match &self.purpose {
            Purpose::Founding => None,
            Purpose::NewKey(place) | Purpose::Resharing { place, .. } => Some(place),
        }
    }

    /// The opening key that a resharing hands on.
    pub fn old_key(&self) -> Option<&OldKey> {
        match &self.purpose {
            Purpose::Resharing { old, .. } => Some(old),
            Purpose::Founding | Purpose::NewKey(_) => None,
        }
    }

    /// How the key that results was made.
    pub fn origin(&self) -> Origin {
        self.old_key().map_or(Origin::Dkg, |old| old.origin)
    }

    /// The library's computation under this context.
    pub(super) fn round(&self, context: [u8; 32]) -> Result<Round<'_>, DkgError> {
        Ok(match &self.purpose {
            Purpose::Founding | Purpose::NewKey(_) => {
                Round::New(Founding::new(context, &base(&self.nonce), self.quorum))
            }
            Purpose::Resharing { dealers, old, .. } => {
                let old = &old.sharing;
                Round::HandedOn(Resharing::new(context, old, *dealers, self.quorum)?)
            }
        })
    }
}

impl TextFile for Plan {
    const LABEL: &'static str = "clew-dkg-plan-1";

    fn comment(&self) -> String {
        let (n, t) = (self.quorum.trustees(), self.quorum.threshold());
        let what = match self.purpose {
            Purpose::Founding => "of the new group",
            Purpose::NewKey(_) => "(a new one) of group",
            Purpose::Resharing { .. } => "(handed on) of group",
        };
        format!(
            "clew plan of an opening key {what} {}: {n} trustees, {t} open together. Not secret.",
            self.name
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.purpose.code());
        self.name.write(out);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.random);
        write_quorum(self.quorum, out);
        self.purpose.write(out);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let code = fields.u8()?;
        let name = Name::read(fields)?;
        let (nonce, random) = (fields.array()?, fields.array()?);
        Some(Self {
            quorum: read_quorum(fields)?,
            purpose: Purpose::read(code, &nonce, fields)?,
            name,
            nonce,
            random,
        })
    }
}

impl Purpose {
    fn code(&self) -> u8 {
        match self {
            Self::Founding => FOUNDING,
            Self::NewKey(_) => NEW_KEY,
            Self::Resharing { .. } => RESHARING,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Founding => (),
            Self::NewKey(place) => place.write(out),
            Self::Resharing {
                place,
                dealers,
                old,
            } => {
                place.write(out);
                out.extend_from_slice(&dealers.to_bytes());
                old.write(out);
            }
        }
    }

    fn read(code: u8, nonce: &[u8; 32], fields: &mut Reader<'_>) -> Option<Self> {
        Some(match code {
            FOUNDING => Self::Founding,
            NEW_KEY => Self::NewKey(Place::read(fields)?),
            RESHARING => {
                let place = Place::read(fields)?;
                let dealers = Set::from_bytes(fields.take(4)?).ok()?;
                let old = OldKey::read(nonce, fields)?;
                dealers.check(old.sharing.quorum()).ok()?;
                Self::Resharing {
                    place,
                    dealers,
                    old,
                }
            }
            _ => return None,
        })
    }
}

impl Place {
    fn newest(group: &GroupFile) -> Result<Self, DkgError> {
        if group.scheme() != Scheme::Xr {
            return Err(DkgError::Scheme);
        }
        Ok(Self {
            group: group.id(),
            epoch: group.newest_epoch(),
            id: group.last_id(),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.id.0);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let (group, epoch, id) = (fields.array()?, fields.u32()?, fields.array()?);
        Some(Self {
            group: GroupId(group),
            epoch,
            id: EpochId(id),
        })
    }
}

impl OldKey {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.since.to_be_bytes());
        out.push(self.origin as u8);
        write_quorum(self.sharing.quorum(), out);
        out.extend_from_slice(&self.sharing.public().to_bytes());
        out.extend_from_slice(&self.sharing.to_bytes());
    }

    fn read(nonce: &[u8; 32], fields: &mut Reader<'_>) -> Option<Self> {
        let since = fields.u32()?;
        let origin = match fields.u8()? {
            1 => Origin::TrustedDealer,
            2 => Origin::Dkg,
            _ => return None,
        };
        let quorum = read_quorum(fields)?;
        let h = G1::from_bytes(fields.take(G1_BYTES)?).ok()?;
        let rest = fields.take(G1_BYTES * usize::from(quorum.threshold() - 1))?;
        let sharing = Sharing::from_parts(&base(nonce), &h, rest, quorum).ok()?;
        Some(Self {
            since,
            origin,
            sharing,
        })
    }
}

/// The mathematics of a plan.
pub(super) enum Round<'a> {
    New(Founding),
    HandedOn(Resharing<'a>),
}

impl Round<'_> {
    /// `old` is the share that a resharing hands on; a new key needs none.
    pub fn deal(
        &self,
        dealer: Trustee,
        old: Option<&SecretShare>,
        rng: &mut impl CryptoRng,
    ) -> Result<(Broadcast, Vec<DealtShare>), DkgError> {
        Ok(match self {
            Self::New(round) => round.deal(dealer, rng)?,
            Self::HandedOn(round) => round.deal(old.ok_or(DkgError::OldKey)?, rng)?,
        })
    }

    pub fn sharing(&self, broadcasts: &[Broadcast]) -> Result<Sharing, QuorumError> {
        match self {
            Self::New(round) => round.sharing(broadcasts),
            Self::HandedOn(round) => round.sharing(broadcasts),
        }
    }

    pub fn receive(
        &self,
        trustee: Trustee,
        broadcasts: &[Broadcast],
        dealt: &[DealtShare],
    ) -> Result<SecretShare, QuorumError> {
        let (_, share) = match self {
            Self::New(round) => round.receive(trustee, broadcasts, dealt)?,
            Self::HandedOn(round) => round.receive(trustee, broadcasts, dealt)?,
        };
        Ok(share)
    }
}

fn write_quorum(quorum: Quorum, out: &mut Vec<u8>) {
    out.extend_from_slice(&[quorum.threshold(), quorum.trustees()]);
}

fn read_quorum(fields: &mut Reader<'_>) -> Option<Quorum> {
    let [threshold, trustees] = fields.array()?;
    Quorum::new(threshold, trustees).ok()
}

fn random(rng: &mut impl CryptoRng) -> [u8; 32] {
    let mut out = [0; 32];
    rng.fill_bytes(&mut out);
    out
}
