//! The group file (`spec/group-file.md`): what it says, once every rule is checked.

mod read;
mod rule;

pub use read::{HEADER, MAX_EPOCHS};
pub use rule::{GroupFileError, Rule};

use crate::parts::{
    Change, EpochRecord, Genesis, NewOpeningKey, Origin, RegisterHead, SealedHead, SharingRecord,
};
use crate::register::RegisterEntry;
use crate::signed::strict_key;
use clew_group::curve::{G1, G2, PreparedG2, Scalar, pairing_product};
use clew_group::quorum::{Quorum, Sharing};
use clew_group::{DecodeError, EpochId, PublicKey, Scheme, bbs04, xr};
use clew_packet::GroupId;
use ed25519_dalek::VerifyingKey;
use read::{Read, read};
use rule::at;

/// Where w stands in an encoded public key: `g1 || h || u || v || g2 || w || lift` and
/// `g1 || h0 || u || h || h_w || w || lift`.
const BBS04_W: usize = 288;
const XR_W: usize = 240;

/// A group file whose layout, chain, signatures and first key were checked. Keys and sharings of
/// later epochs are checked when they are asked for.
#[derive(Clone, Debug)]
pub struct GroupFile {
    id: GroupId,
    genesis: Genesis,
    first_key: PublicKey,
    epochs: Vec<EpochRecord>,
    /// The epochs that revoke a machine, and those that have a new sharing, ascending.
    revocations: Vec<u32>,
    sharings: Vec<u32>,
    register: SealedHead,
}

/// How the opening key of some epochs is shared.
#[derive(Clone, Debug)]
pub struct EpochSharing {
    /// The first epoch that it serves.
    pub since: u32,
    /// Where the key comes from.
    pub origin: Origin,
    /// t of n.
    pub quorum: Quorum,
    /// One sharing for each secret, in the order of a decryption's parts: xi with `xr`, xi1 and xi2
    /// with `bbs04`.
    pub parts: Vec<Sharing>,
}

/// What a member key follows from one epoch to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// A machine of a `bbs04` group was revoked.
    RevocationBbs04(bbs04::Revocation),
    /// A machine of an `xr` group was revoked.
    RevocationXr(xr::Revocation),
    /// The opening key is another: member keys stay as they are.
    Sharing,
}

impl GroupFile {
    /// Reads and checks a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GroupFileError> {
        let Read {
            genesis,
            epochs,
            register,
            first_key,
        } = read(bytes)?;
        let of = |revocation: bool| {
            let wanted = epochs
                .iter()
                .filter(|e| e.change.is_revocation() == revocation);
            wanted.map(|e| e.epoch).collect()
        };
        Ok(Self {
            id: genesis.group_id(),
            revocations: of(true),
            sharings: of(false),
            genesis,
            first_key,
            epochs,
            register,
        })
    }

    /// The group id.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// How members sign.
    pub fn scheme(&self) -> Scheme {
        self.genesis.scheme
    }

    /// Record 0.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The records of epochs 1 and later.
    pub fn epochs(&self) -> &[EpochRecord] {
        &self.epochs
    }

    /// The register's head.
    pub fn register(&self) -> &RegisterHead {
        &self.register.head
    }

    /// The register's head with the manager's signature, as proofs have it.
    pub fn sealed_register(&self) -> &SealedHead {
        &self.register
    }

    /// Number of the newest epoch.
    pub fn newest_epoch(&self) -> u32 {
        self.epochs.len() as u32
    }

    /// When `epoch` starts, in nanoseconds since 1970; nothing for epoch 0 and for epochs that are
    /// not in the file.
    pub fn start(&self, epoch: u32) -> Option<u64> {
        self.record(epoch).map(|record| record.start)
    }

    /// The epoch id of `epoch`: nothing if the file has no such epoch. A member whose key has
    /// another id for this epoch has seen another history of the group.
    pub fn epoch_id(&self, epoch: u32) -> Option<EpochId> {
        match self.epochs.get(epoch as usize) {
            Some(successor) => Some(successor.previous),
            None if epoch == self.newest_epoch() => Some(self.last_id()),
            None => None,
        }
    }

    /// The epoch id of the newest epoch.
    pub fn last_id(&self) -> EpochId {
        self.register.head.last
    }

    /// The epoch with that id. Looks at every epoch, newest first.
    pub fn epoch_of(&self, id: &EpochId) -> Option<u32> {
        (0..=self.newest_epoch())
            .rev()
            .find(|epoch| self.epoch_id(*epoch).as_ref() == Some(id))
    }

    /// The public key of epoch 0.
    pub fn first_public_key(&self) -> &PublicKey {
        &self.first_key
    }

    /// The public key of an epoch, checked to descend from epoch 0 (about 3 ms). Nothing if the
    /// file has no such epoch.
    pub fn public_key(&self, epoch: u32) -> Option<Result<PublicKey, GroupFileError>> {
        if epoch == 0 {
            return Some(Ok(self.first_key.clone()));
        }
        self.record(epoch)?;
        let key = PublicKey::from_bytes(self.scheme(), &self.public_key_bytes(epoch))
            .ok()
            .filter(|key| key.check_descends_from(&self.first_key).is_ok());
        Some(key.ok_or(at(epoch as usize, Rule::PublicKey)))
    }

    /// How the opening key of an epoch is shared. Nothing if the file has no such epoch.
    pub fn sharing(&self, epoch: u32) -> Option<Result<EpochSharing, GroupFileError>> {
        let (since, record) = self.sharing_record(epoch)?;
        let parts = self.sharings_of(epoch, record);
        Some(match parts {
            Ok(parts) => Ok(EpochSharing {
                since,
                origin: record.origin,
                quorum: record.quorum,
                parts,
            }),
            Err(_) => Err(at(since as usize, Rule::Sharing)),
        })
    }

    /// The sharing of an epoch as it stands in a record, unchecked, and the epoch of that record.
    pub fn sharing_record(&self, epoch: u32) -> Option<(u32, &SharingRecord)> {
        if epoch > self.newest_epoch() {
            return None;
        }
        Some(match self.new_opening_key(epoch) {
            Some((since, new)) => (since, &new.sharing),
            None => (0, &self.genesis.sharing),
        })
    }

    /// What a member key has to follow to get from the epoch before into `epoch`; nothing for epoch
    /// 0 and for epochs that are not in the file.
    pub fn change(&self, epoch: u32) -> Option<Result<GroupChange, GroupFileError>> {
        let change = match &self.record(epoch)?.change {
            Change::Bbs04Revocation { revocation, .. } => {
                bbs04::Revocation::from_bytes(&revocation[..]).map(GroupChange::RevocationBbs04)
            }
            Change::XrRevocation(revocation) => {
                xr::Revocation::from_bytes(&revocation[..]).map(GroupChange::RevocationXr)
            }
            Change::Sharing(_) => Ok(GroupChange::Sharing),
        };
        Some(change.map_err(|_| at(epoch as usize, Rule::PublicKey)))
    }

    /// Every x that is revoked in `epoch`, oldest first: what an issuer's credentials are scaled by.
    pub fn revoked_until(&self, epoch: u32) -> Vec<Scalar> {
        let until = self.revocations.partition_point(|e| *e <= epoch);
        let records = self.revocations[..until]
            .iter()
            .filter_map(|e| self.record(*e));
        records
            .filter_map(|record| revoked_x(&record.change))
            .collect()
    }

    /// The epoch from which a machine was revoked, found with public values: the first x that fits
    /// its entry (a pairing for each revocation). Its points are decoded, not checked otherwise.
    pub fn revoked_in(&self, entry: &RegisterEntry) -> Option<u32> {
        if self.revocations.is_empty() {
            return None;
        }
        let a = G1::from_bytes(&entry.credential).ok()?;
        let (sum, w) = self.certified(entry)?;
        let (g2, w) = (PreparedG2::new(&G2::generator()), PreparedG2::new(&w));
        // e(A_0, w G2^x) = e(g1_0 C_0, G2)
        self.revocations.iter().copied().find(|e| {
            let x = self.record(*e).and_then(|record| revoked_x(&record.change));
            x.is_some_and(|x| {
                let in_g2 = a.mul(&x) - sum;
                pairing_product([(&a, &w), (&in_g2, &g2)]).is_identity()
            })
        })
    }

    pub(crate) fn manager(&self) -> Option<VerifyingKey> {
        strict_key(&self.genesis.manager)
    }

    fn record(&self, epoch: u32) -> Option<&EpochRecord> {
        self.epochs.get((epoch as usize).checked_sub(1)?)
    }

    /// The last of `epochs` (ascending) that is not after `epoch`, with its record.
    fn newest_of(&self, epochs: &[u32], epoch: u32) -> Option<&EpochRecord> {
        let after = epochs.partition_point(|e| *e <= epoch);
        self.record(epochs[after.checked_sub(1)?])
    }

    fn new_opening_key(&self, epoch: u32) -> Option<(u32, &NewOpeningKey)> {
        let record = self.newest_of(&self.sharings, epoch)?;
        match &record.change {
            Change::Sharing(new) => Some((record.epoch, new)),
            _ => None,
        }
    }

    /// The encoded public key of an epoch: each part from the newest record that states it.
    fn public_key_bytes(&self, epoch: u32) -> Vec<u8> {
        let mut key = self.genesis.public_key.clone();
        let revoked = self.newest_of(&self.revocations, epoch);
        match revoked.map(|record| &record.change) {
            Some(Change::Bbs04Revocation { revocation, w }) => {
                let (g1, g2, lift) = (
                    &revocation[32..80],
                    &revocation[80..176],
                    &revocation[176..],
                );
                return [g1, &key[48..192], g2, &w[..], lift].concat();
            }
            Some(Change::XrRevocation(bytes)) => {
                key[..96].copy_from_slice(&bytes[32..128]);
                key[336..].copy_from_slice(&bytes[128..]);
            }
            Some(Change::Sharing(_)) | None => {}
        }
        if let Some((_, new)) = self.new_opening_key(epoch) {
            key[144..192].copy_from_slice(&new.h);
            key[192..240].copy_from_slice(&new.h_w);
        }
        key
    }

    fn sharings_of(&self, epoch: u32, record: &SharingRecord) -> Result<Vec<Sharing>, DecodeError> {
        let rest = &record.commitments[..];
        match PublicKey::from_bytes(self.scheme(), &self.public_key_bytes(epoch))? {
            PublicKey::Xr(key) => {
                let of_xi = Sharing::from_parts(key.u(), key.h(), rest, record.quorum)?;
                Ok(vec![of_xi])
            }
            PublicKey::Bbs04(key) => {
                let (in_u, in_v) = rest.split_at(rest.len() / 2);
                Ok(key.sharings([in_u, in_v], record.quorum)?.to_vec())
            }
        }
    }

    /// What A_0^(gamma + x) is for this entry, and w of epoch 0.
    fn certified(&self, entry: &RegisterEntry) -> Option<(G1, G2)> {
        let key = &self.genesis.public_key;
        let g1 = G1::from_bytes(&key[..48]).ok()?;
        let point = |at: usize| G2::from_bytes(&key[at..at + 96]).ok();
        match &entry.device {
            None => Some((g1, point(BBS04_W)?)),
            Some(device) => {
                let commitment = G1::from_bytes(&device.commitment).ok()?;
                Some((g1 + commitment, point(XR_W)?))
            }
        }
    }
}

fn revoked_x(change: &Change) -> Option<Scalar> {
    let x = match change {
        Change::Bbs04Revocation { revocation, .. } => &revocation[..32],
        Change::XrRevocation(bytes) => &bytes[..32],
        Change::Sharing(_) => return None,
    };
    Scalar::from_bytes(x).ok()
}
