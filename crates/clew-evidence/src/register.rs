//! The register of machines: its entries (`spec/opening.md` section 4), and what a device signs.

use crate::fingerprint::DeviceFingerprint;
use crate::group_file::GroupFile;
use crate::merkle;
use crate::signed::{SIGNATURE_BYTES, holds, strict_key};
use crate::wire::{read_row, row_bytes};
use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_group::curve::G1;
use clew_group::{Invalid, PROOF_BYTES, Proof, PublicKey, Scheme, domain_separator};
use clew_packet::GroupId;
use clew_wire::Reader;
use clew_wire::{MAX_NAME_BYTES, Name};
use sha2::{Digest, Sha256};

const STATEMENT_DOMAIN: &[u8; 16] = b"clew-device-1\0\0\0";

/// Longest encoded entry.
pub const MAX_ENTRY_BYTES: usize = 4 + 4 + 1 + 4 + 48 + 1 + MAX_NAME_BYTES + XR_TAIL;

/// Size of what is behind the name of an entry: C, device key, S, proof of y.
const XR_TAIL: usize = 48 + 32 + SIGNATURE_BYTES + PROOF_BYTES;

/// One line of the register: a machine, and the credential that an opened signature leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterEntry {
    /// Its place, from 0.
    pub index: u32,
    /// The epoch in force when the issuer made the offer.
    pub joined: u32,
    /// Where its key was made.
    pub how: KeyOrigin,
    /// The row of the same name that this one replaces, if it does.
    pub replaces: Option<u32>,
    /// A, encoded. The same in all epochs.
    pub credential: [u8; 48],
    /// Name of the machine: the manager's word.
    pub name: Name,
    /// What belongs to the credential.
    pub key: EntryKey,
}

/// Where a machine's key was made: what the register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// On the issuer's host: whoever had that host can sign as the machine.
    IssuerHost = 1,
    /// On the device's own host.
    OwnHost = 2,
    /// On the device's own host, with a device key that its maker attested.
    Attested = 3,
}

/// What belongs to a credential A, by scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKey {
    /// X = G2^x, encoded (`bbs04`).
    Bbs04(Box<[u8; 96]>),
    /// That the device itself joined (`xr`).
    Xr(DeviceEntry),
}

/// What ties an entry to the device that joined (`xr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEntry {
    /// C = h0^y of the device's secret y, encoded.
    pub commitment: [u8; 48],
    /// Ed25519 public key of the device.
    pub key: [u8; 32],
    /// S: the device's signature over [`RegisterEntry::statement`].
    pub signature: [u8; SIGNATURE_BYTES],
    /// The proof of y, encoded: for the same statement
    /// ([`prove_y`](clew_group::xr::MemberKey::prove_y)).
    pub proof: [u8; PROOF_BYTES],
}

impl KeyOrigin {
    /// Returns the name that commands and JSON output use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IssuerHost => "issuer-host",
            Self::OwnHost => "own-host",
            Self::Attested => "attested",
        }
    }

    /// Returns the code in entries and offers: 1 to 3.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the value with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::IssuerHost),
            2 => Some(Self::OwnHost),
            3 => Some(Self::Attested),
            _ => None,
        }
    }
}

impl RegisterEntry {
    /// Encodes the entry, as the root covers it: up to [`MAX_ENTRY_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.index.to_be_bytes().to_vec();
        self.write_joining(&mut out);
        out.extend_from_slice(&self.credential);
        self.name.write(&mut out);
        match &self.key {
            EntryKey::Bbs04(x) => out.extend_from_slice(&x[..]),
            EntryKey::Xr(device) => {
                out.extend_from_slice(&device.commitment);
                out.extend_from_slice(&device.key);
                out.extend_from_slice(&device.signature);
                out.extend_from_slice(&device.proof);
            }
        }
        out
    }

    /// joined | how | replaces
    fn write_joining(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.joined.to_be_bytes());
        out.push(self.how.code());
        out.extend_from_slice(&row_bytes(self.replaces));
    }

    /// Decodes an entry, with the scalars of its proof. Its points are not decoded.
    ///
    /// Returns `None` if a field or the length is wrong.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        let (index, joined) = (fields.u32()?, fields.u32()?);
        let how = KeyOrigin::from_code(fields.u8()?)?;
        let replaces = read_row(&mut fields)?;
        let (credential, name) = (fields.array()?, Name::read(&mut fields)?);
        let key = EntryKey::read(how, &mut fields)?;
        fields.0.is_empty().then_some(Self {
            index,
            joined,
            how,
            replaces,
            credential,
            name,
            key,
        })
    }

    /// Returns the scheme of the group that has such entries.
    pub fn scheme(&self) -> Scheme {
        match self.key {
            EntryKey::Bbs04(_) => Scheme::Bbs04,
            EntryKey::Xr(_) => Scheme::Xr,
        }
    }

    /// Returns what ties the entry to its device. Returns `None` with `bbs04`.
    pub fn device(&self) -> Option<&DeviceEntry> {
        match &self.key {
            EntryKey::Bbs04(_) => None,
            EntryKey::Xr(device) => Some(device),
        }
    }

    /// Returns the fingerprint of its device key. Returns `None` with `bbs04`.
    pub fn fingerprint(&self) -> Option<DeviceFingerprint> {
        self.device()
            .map(|device| DeviceFingerprint::of(&device.key))
    }

    /// Returns SHA-256(00 || entry), by which the register's tree and a request for a match name
    /// it.
    pub fn leaf_hash(&self) -> [u8; 32] {
        merkle::leaf(&self.encode())
    }

    /// Returns the bytes for which the device vouches when it joins: "this credential of this group
    /// is mine".
    ///
    /// Its Ed25519 signature over these bytes is S, and its proof of y is for them. Empty with
    /// `bbs04`, where no device vouches.
    pub fn statement(&self, group: GroupId) -> Vec<u8> {
        let EntryKey::Xr(device) = &self.key else {
            return Vec::new();
        };
        let mut out = STATEMENT_DOMAIN.to_vec();
        out.extend_from_slice(&group.0);
        self.write_joining(&mut out);
        out.extend_from_slice(&device.commitment);
        out.extend_from_slice(&self.credential);
        out.extend_from_slice(&device.key);
        self.name.write(&mut out);
        out
    }

    /// Checks rule `device`: S holds under the device key, and the proof of y holds for C. With
    /// `bbs04` there is nothing to check.
    ///
    /// # Errors
    /// [`Invalid`] if the key is not strict, C or the proof does not decode, S or the proof does not
    /// hold, or the group is of another scheme.
    pub fn check_device(&self, group: &GroupFile) -> Result<(), Invalid> {
        let Some(device) = self.device() else {
            return Ok(());
        };
        let PublicKey::Xr(public) = group.first_public_key() else {
            return Err(Invalid);
        };
        let statement = self.statement(group.id());
        let key = strict_key(&device.key).ok_or(Invalid)?;
        let c = G1::from_bytes(&device.commitment).map_err(|_| Invalid)?;
        let proof = Proof::from_bytes(&device.proof).map_err(|_| Invalid)?;
        let holds = holds(&key, &statement, &device.signature)
            && public.proof_of_y_holds(&c, &statement, &proof);
        if holds { Ok(()) } else { Err(Invalid) }
    }
}

impl EntryKey {
    /// The scheme is told by the length.
    fn read(how: KeyOrigin, fields: &mut Reader<'_>) -> Option<Self> {
        if fields.0.len() == XR_TAIL {
            let device = DeviceEntry {
                commitment: fields.array()?,
                key: fields.array()?,
                signature: fields.array()?,
                proof: fields.array()?,
            };
            Proof::from_bytes(&device.proof).ok()?;
            return Some(Self::Xr(device));
        }
        let x = Box::new(fields.array()?);
        (how == KeyOrigin::IssuerHost).then_some(Self::Bbs04(x))
    }
}

/// Returns the 32 bytes that name one join (`spec/opening.md` section 5), for the nonce that the
/// issuer drew.
pub fn join_session(
    group: GroupId,
    nonce: &[u8; 32],
    device_key: &[u8; 32],
    name: &Name,
) -> [u8; 32] {
    let mut encoded_name = Vec::new();
    name.write(&mut encoded_name);
    Sha256::new_with_prefix(domain_separator("clew-join-session-1"))
        .chain_update(group.0)
        .chain_update(nonce)
        .chain_update(device_key)
        .chain_update(encoded_name)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId([7; 16]);

    fn entry() -> RegisterEntry {
        let device = DeviceEntry {
            commitment: [2; 48],
            key: [3; 32],
            signature: [4; 64],
            proof: [5; 64],
        };
        RegisterEntry {
            index: 5,
            joined: 3,
            how: KeyOrigin::OwnHost,
            replaces: Some(4),
            credential: [1; 48],
            name: "web-1".parse().unwrap(),
            key: EntryKey::Xr(device),
        }
    }

    fn bbs04() -> RegisterEntry {
        RegisterEntry {
            how: KeyOrigin::IssuerHost,
            replaces: None,
            key: EntryKey::Bbs04(Box::new([6; 96])),
            ..entry()
        }
    }

    #[test]
    fn entries_round_trip_and_have_one_length() {
        for (scheme, entry) in [(Scheme::Xr, entry()), (Scheme::Bbs04, bbs04())] {
            let bytes = entry.encode();
            assert!(bytes.len() <= MAX_ENTRY_BYTES);
            assert_eq!(entry.scheme(), scheme);
            assert_eq!(RegisterEntry::decode(&bytes), Some(entry));
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(RegisterEntry::decode(&longer), None);
            for cut in 0..bytes.len() {
                assert_eq!(RegisterEntry::decode(&bytes[..cut]), None, "{scheme} {cut}");
            }
        }
    }

    #[test]
    fn entries_have_the_fields_of_the_specification() {
        let entry = entry();
        let head = [0, 0, 0, 5, 0, 0, 0, 3, 2, 0, 0, 0, 4];
        let tail = [&[2; 48][..], &[3; 32], &[4; 64], &[5; 64]].concat();
        let expected = [&head[..], &[1; 48], b"\x05web-1", &tail].concat();
        assert_eq!(entry.encode(), expected);
        let head = [0, 0, 0, 5, 0, 0, 0, 3, 1, 0xff, 0xff, 0xff, 0xff];
        let expected = [&head[..], &[1; 48], b"\x05web-1", &[6; 96]].concat();
        assert_eq!(bbs04().encode(), expected);
    }

    #[test]
    fn how_has_three_values_and_bbs04_one() {
        for (mut bytes, allowed) in [(entry().encode(), 1..=3), (bbs04().encode(), 1..=1)] {
            for how in 0..=255 {
                bytes[8] = how;
                let read = RegisterEntry::decode(&bytes);
                assert_eq!(read.is_some(), allowed.contains(&how), "{how}");
            }
        }
    }

    #[test]
    fn how_has_the_names_of_commands_and_json() {
        let all = (0..=255).filter_map(KeyOrigin::from_code);
        let names: Vec<_> = all.map(KeyOrigin::as_str).collect();
        assert_eq!(names, ["issuer-host", "own-host", "attested"]);
    }

    #[test]
    fn a_statement_has_the_fields_of_the_specification() {
        let entry = entry();
        let expected = [
            &b"clew-device-1\0\0\0"[..],
            &[7; 16],
            &[0, 0, 0, 3, 2, 0, 0, 0, 4],
            &[2; 48],
            &[1; 48],
            &[3; 32],
            b"\x05web-1",
        ];
        assert_eq!(entry.statement(GROUP), expected.concat());
        assert_eq!(bbs04().statement(GROUP), []);
    }

    #[test]
    fn a_proof_is_decoded_with_its_entry() {
        let bytes = entry().encode();
        let proof = bytes.len() - PROOF_BYTES;
        for at in [proof, proof + 32] {
            let mut high = bytes.clone();
            high[at] = 0xff; // c of more than 254 bits; s not reduced
            assert_eq!(RegisterEntry::decode(&high), None);
        }
    }

    #[test]
    fn sessions_differ_in_every_part() {
        let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
        let one = join_session(GROUP, &[1; 32], &[2; 32], &a);
        assert_ne!(one, join_session(GroupId([0; 16]), &[1; 32], &[2; 32], &a));
        assert_ne!(one, join_session(GROUP, &[0; 32], &[2; 32], &a));
        assert_ne!(one, join_session(GROUP, &[1; 32], &[0; 32], &a));
        assert_ne!(one, join_session(GROUP, &[1; 32], &[2; 32], &b));
    }
}
