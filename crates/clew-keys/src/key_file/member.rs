//! A machine's key.

use super::scheme;
use crate::TextFile;
use clew_evidence::wire::Reader;
use clew_evidence::{GroupFile, GroupId, Name};
use clew_group::curve::G1;
use clew_group::{
    EpochId, FOUNDING_BYTES, Invalid, MemberKey, PublicKey, Scheme, SigningKey, Witness,
};
use zeroize::Zeroizing;

/// Most epochs that a key file holds.
pub const MAX_HELD_EPOCHS: usize = 16;

/// A machine's key with all that signing needs: the credential, which never changes, and the witness
/// of each epoch that the machine may have to sign in next.
#[derive(Clone, Debug)]
pub struct MemberKeyFile {
    /// The group.
    pub group: GroupId,
    /// The group's nonce, from which its generators are derived.
    pub nonce: [u8; 32],
    /// Name of the machine, for its owner's eyes.
    pub machine: Name,
    /// The machine's row in the register.
    pub index: u32,
    /// The secret.
    pub key: MemberKey,
    /// xr: the device's own key, which vouched for the credential.
    pub device: Option<ed25519_dalek::SigningKey>,
    /// The epochs that the key signs in, ascending: 1 to [`MAX_HELD_EPOCHS`].
    pub epochs: Vec<HeldEpoch>,
}

/// An epoch that a key file holds the witness of.
#[derive(Clone, Debug)]
pub struct HeldEpoch {
    /// Its number.
    pub epoch: u32,
    /// Its id, which a fork of the group's history cannot share.
    pub id: EpochId,
    /// When it starts, nanoseconds since 1970; 0 for epoch 0.
    pub start: u64,
    /// The group's public key in it.
    pub public: PublicKey,
    /// W of the machine in it.
    pub witness: Witness,
}

impl MemberKeyFile {
    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.key.scheme()
    }

    /// Returns the place in [`Self::epochs`] of the epoch to sign in at `time` (nanoseconds since
    /// 1970): the last held one that has started, else the earliest.
    pub fn place_at(&self, time: u64) -> usize {
        let started = self.epochs.iter().rposition(|held| held.start <= time);
        started.unwrap_or(0)
    }

    /// Returns the epoch to sign in at `time` (nanoseconds since 1970). `None` only if the key holds no
    /// epoch.
    pub fn epoch_at(&self, time: u64) -> Option<&HeldEpoch> {
        self.epochs.get(self.place_at(time))
    }

    /// The newest epoch that the key holds, if it holds one.
    pub fn newest(&self) -> Option<&HeldEpoch> {
        self.epochs.last()
    }

    /// The held epoch of that number.
    pub fn held(&self, epoch: u32) -> Option<&HeldEpoch> {
        self.epochs.iter().find(|held| held.epoch == epoch)
    }

    /// Prepares the key for an epoch, with both checks: e(A, w G2^x) and e(W, w G2^x).
    ///
    /// # Errors
    /// [`Invalid`] if credential and witness are not of this machine, group and epoch.
    pub fn signing_key(&self, held: &HeldEpoch) -> Result<SigningKey, Invalid> {
        SigningKey::new(&held.public, held.id, self.key.clone(), &held.witness)
    }
}

impl TextFile for MemberKeyFile {
    const LABEL: &'static str = "clew-member-key-1";

    fn comment(&self) -> String {
        let epochs = match &self.epochs[..] {
            [] => "no epoch".to_owned(),
            [one] => format!("epoch {}", one.epoch),
            [first, .., last] => format!("epochs {} to {}", first.epoch, last.epoch),
        };
        format!(
            "clew member key of machine {}, group {}, {epochs}. SECRET: it signs as this machine.",
            self.machine, self.group
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.scheme().code());
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.nonce);
        self.machine.write(out);
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&self.key.to_bytes());
        if let Some(device) = &self.device {
            out.extend_from_slice(Zeroizing::new(device.to_bytes()).as_slice());
        }
        out.push(self.epochs.len() as u8);
        self.epochs.iter().for_each(|held| held.write(out));
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let scheme = scheme(fields)?;
        let (group, nonce) = (fields.array()?, fields.array()?);
        let machine = Name::read(fields)?;
        let index = fields.u32()?;
        let key = MemberKey::from_bytes(scheme, fields.take(scheme.member_key_bytes())?).ok()?;
        let device = match scheme {
            Scheme::Bbs04 => None,
            Scheme::Xr => Some(Zeroizing::new(fields.array()?)),
        };
        Some(Self {
            group: GroupId(group),
            nonce,
            machine,
            index,
            key,
            device: device.map(|seed| ed25519_dalek::SigningKey::from_bytes(&seed)),
            epochs: read_epochs(scheme, &nonce, fields)?,
        })
    }
}

fn read_epochs(
    scheme: Scheme,
    nonce: &[u8; 32],
    fields: &mut Reader<'_>,
) -> Option<Vec<HeldEpoch>> {
    let count = usize::from(fields.u8()?);
    if !(1..=MAX_HELD_EPOCHS).contains(&count) {
        return None;
    }
    let read = (0..count).map(|_| HeldEpoch::read(scheme, nonce, fields));
    let epochs: Vec<HeldEpoch> = read.collect::<Option<_>>()?;
    let ascending = epochs.is_sorted_by(|a, b| a.epoch < b.epoch);
    // gamma is the same in all epochs of a group.
    let one_w = epochs.is_sorted_by(|a, b| a.public.w() == b.public.w());
    (ascending && one_w).then_some(epochs)
}

impl HeldEpoch {
    /// An epoch of the group file with this witness. Returns `None` if the file has no such epoch, or
    /// no key in it.
    pub fn of(group: &GroupFile, epoch: u32, witness: Witness) -> Option<Self> {
        Some(Self {
            epoch,
            id: group.epoch_id(epoch)?,
            start: group.start(epoch).unwrap_or_default().as_nanos(),
            public: group.public_key(epoch)?.ok()?,
            witness,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.start.to_be_bytes());
        out.extend_from_slice(&self.public.founding_bytes());
        out.extend_from_slice(&self.public.v().to_bytes());
        out.extend_from_slice(&self.witness.to_bytes()[..]);
    }

    fn read(scheme: Scheme, nonce: &[u8; 32], fields: &mut Reader<'_>) -> Option<Self> {
        let (epoch, id, start) = (fields.u32()?, fields.array()?, fields.u64()?);
        let founding = PublicKey::founded(scheme, nonce, fields.take(FOUNDING_BYTES)?);
        let v = G1::from_bytes(fields.take(48)?).ok()?;
        Some(Self {
            epoch,
            id: EpochId(id),
            start,
            public: founding.ok()?.in_epoch(&v).ok()?,
            witness: Witness::from_bytes(fields.take(48)?).ok()?,
        })
    }
}
