//! The register of machines: its entries (`spec/opening.md` section 4), and what a device signs.

use crate::merkle;
use crate::name::Name;
use crate::signed::{SIGNATURE_BYTES, holds, strict_key};
use crate::wire::Fields;
use clew_group::{Invalid, Scheme, domain_separator};
use clew_packet::GroupId;
use sha2::{Digest, Sha256};

const STATEMENT_DOMAIN: &[u8; 16] = b"clew-device-1\0\0\0";

/// Longest encoded entry.
pub const MAX_ENTRY_BYTES: usize = 4 + 4 + 48 + 1 + crate::MAX_NAME_BYTES + 48 + 32 + 64;

/// One line of the register: a machine and the credential by which opening finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterEntry {
    /// Its place, from 0.
    pub index: u32,
    /// Epoch in which it was enrolled.
    pub joined: u32,
    /// A of epoch 0, encoded.
    pub credential: [u8; 48],
    /// Name of the machine.
    pub name: Name,
    /// With `xr`: that the device itself joined. Nothing with `bbs04`.
    pub device: Option<DeviceEntry>,
}

/// What ties an entry to the device that joined (`xr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEntry {
    /// C of the device's secret y in epoch 0, encoded.
    pub commitment: [u8; 48],
    /// Ed25519 public key of the device.
    pub key: [u8; 32],
    /// S: the device's signature over [`RegisterEntry::statement`].
    pub signature: [u8; SIGNATURE_BYTES],
}

impl RegisterEntry {
    /// Encodes the entry, as the root covers it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.index.to_be_bytes().to_vec();
        out.extend_from_slice(&self.joined.to_be_bytes());
        out.extend_from_slice(&self.credential);
        self.name.write(&mut out);
        if let Some(device) = &self.device {
            out.extend_from_slice(&device.commitment);
            out.extend_from_slice(&device.key);
            out.extend_from_slice(&device.signature);
        }
        out
    }

    /// Decodes an entry; nothing if a field or the length is wrong. Its points are bytes still.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (index, joined, credential) = (fields.u32()?, fields.u32()?, fields.array()?);
        let name = Name::read(&mut fields)?;
        let device = match fields.0.is_empty() {
            true => None,
            false => Some(DeviceEntry {
                commitment: fields.array()?,
                key: fields.array()?,
                signature: fields.array()?,
            }),
        };
        fields.0.is_empty().then_some(Self {
            index,
            joined,
            credential,
            name,
            device,
        })
    }

    /// The scheme of the group that has such entries.
    pub fn scheme(&self) -> Scheme {
        match self.device {
            None => Scheme::Bbs04,
            Some(_) => Scheme::Xr,
        }
    }

    /// SHA-256(00 || entry), by which the register's tree and a request for a match name it.
    pub fn leaf_hash(&self) -> [u8; 32] {
        merkle::leaf(&self.encode())
    }

    /// What the device signs when it joins: "this credential of this group is mine". Its Ed25519
    /// signature over these bytes is S. With `bbs04`, where no device signs, nothing.
    pub fn statement(&self, group: GroupId) -> Vec<u8> {
        let Some(device) = &self.device else {
            return Vec::new();
        };
        let mut out = STATEMENT_DOMAIN.to_vec();
        out.extend_from_slice(&group.0);
        out.extend_from_slice(&self.joined.to_be_bytes());
        out.extend_from_slice(&device.commitment);
        out.extend_from_slice(&self.credential);
        out.extend_from_slice(&device.key);
        self.name.write(&mut out);
        out
    }

    /// Checks that S holds under the device key; with `bbs04` there is nothing to check.
    pub fn check_device(&self, group: GroupId) -> Result<(), Invalid> {
        let Some(device) = &self.device else {
            return Ok(());
        };
        let key = strict_key(&device.key).ok_or(Invalid)?;
        match holds(&key, &self.statement(group), &device.signature) {
            true => Ok(()),
            false => Err(Invalid),
        }
    }
}

/// The 32 bytes that name one join (`spec/opening.md` section 5), for the nonce that the issuer drew.
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
    use ed25519_dalek::{Signer, SigningKey};

    const GROUP: GroupId = GroupId([7; 16]);

    fn entry() -> RegisterEntry {
        let key = SigningKey::from_bytes(&[8; 32]);
        let device = DeviceEntry {
            commitment: [2; 48],
            key: key.verifying_key().to_bytes(),
            signature: [0; 64],
        };
        let mut entry = RegisterEntry {
            index: 5,
            joined: 3,
            credential: [1; 48],
            name: "web-1".parse().unwrap(),
            device: Some(device),
        };
        let statement = entry.statement(GROUP);
        entry.device.as_mut().unwrap().signature = key.sign(&statement).to_bytes();
        entry
    }

    #[test]
    fn entries_round_trip_and_have_one_length() {
        let xr = entry();
        let bbs04 = RegisterEntry {
            device: None,
            ..xr.clone()
        };
        for (scheme, entry) in [(Scheme::Xr, xr), (Scheme::Bbs04, bbs04)] {
            let bytes = entry.encode();
            assert!(bytes.len() <= MAX_ENTRY_BYTES);
            assert_eq!(entry.scheme(), scheme);
            assert_eq!(RegisterEntry::decode(&bytes), Some(entry));
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(RegisterEntry::decode(&longer), None);
            let without_device = bytes.len().wrapping_sub(48 + 32 + 64);
            for cut in (0..bytes.len()).filter(|cut| *cut != without_device) {
                assert_eq!(RegisterEntry::decode(&bytes[..cut]), None, "{scheme} {cut}");
            }
        }
    }

    #[test]
    fn a_statement_has_the_fields_of_the_specification() {
        let entry = entry();
        let device = entry.device.clone().unwrap();
        let expected = [
            &b"clew-device-1\0\0\0"[..],
            &[7; 16],
            &[0, 0, 0, 3],
            &[2; 48],
            &[1; 48],
            &device.key,
            b"\x05web-1",
        ];
        assert_eq!(entry.statement(GROUP), expected.concat());
    }

    #[test]
    fn the_device_signs_every_field_but_the_place() {
        assert!(entry().check_device(GROUP).is_ok());
        assert!(entry().check_device(GroupId([8; 16])).is_err());
        type Change = fn(&mut RegisterEntry, &mut DeviceEntry);
        let changes: [Change; 6] = [
            |e, _| e.joined += 1,
            |e, _| e.credential[0] ^= 1,
            |e, _| e.name = "web-2".parse().unwrap(),
            |_, d| d.commitment[0] ^= 1,
            |_, d| d.key = SigningKey::from_bytes(&[9; 32]).verifying_key().to_bytes(),
            |_, d| d.signature[63] ^= 0x10,
        ];
        for change in changes {
            let mut changed = entry();
            let mut device = changed.device.take().unwrap();
            change(&mut changed, &mut device);
            changed.device = Some(device);
            assert!(changed.check_device(GROUP).is_err());
        }
        let mut moved = entry();
        moved.index = 6;
        assert!(moved.check_device(GROUP).is_ok());
        assert_ne!(moved.leaf_hash(), entry().leaf_hash());
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
