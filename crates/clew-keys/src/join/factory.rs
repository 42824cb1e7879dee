//! A factory's right to invite machines (`spec/key-file.md` section 4.1).

use crate::TextFile;
use clew_evidence::wire::Reader;
use clew_evidence::{GroupId, Name};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

const NONCE_INFO: &[u8] = b"clew-factory-nonce-1";

/// The right to invite machines whose names begin with a prefix. Whoever has the file has the right.
pub struct FactoryFile {
    /// The group.
    pub group: GroupId,
    /// Names this right; random.
    pub id: [u8; 16],
    /// What the names of machines begin with.
    pub prefix: Name,
    /// How many machines it may invite.
    pub machines: u32,
    /// Its end, nanoseconds since 1970.
    pub until: u64,
    /// From which the nonce of each invitation is derived.
    pub secret: Zeroizing<[u8; 32]>,
}

impl FactoryFile {
    /// Claims the invitation of a machine.
    pub fn claim(&self, name: &Name) -> ClaimFile {
        ClaimFile {
            id: self.id,
            name: name.clone(),
            nonce: factory_nonce(&self.secret, name),
        }
    }
}

/// The nonce of the invitation of a machine: HKDF-SHA-256 of a factory's secret and the name.
pub fn factory_nonce(secret: &[u8; 32], name: &Name) -> [u8; 32] {
    let mut nonce = [0; 32];
    let info = [NONCE_INFO, name.as_str().as_bytes()];
    let expanded = Hkdf::<Sha256>::new(None, secret).expand_multi_info(&info, &mut nonce);
    expanded.expect("32 bytes are fewer than HKDF's maximum");
    nonce
}

impl TextFile for FactoryFile {
    const LABEL: &'static str = "clew-factory-1";

    fn comment(&self) -> String {
        format!(
            "clew factory batch: invites {} machines {}... to group {}. SECRET",
            self.machines, self.prefix, self.group
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.id);
        self.prefix.write(out);
        out.extend_from_slice(&self.machines.to_be_bytes());
        out.extend_from_slice(&self.until.to_be_bytes());
        out.extend_from_slice(self.secret.as_slice());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            group: GroupId(fields.array()?),
            id: fields.array()?,
            prefix: Name::read(fields)?,
            machines: fields.u32()?,
            until: fields.u64()?,
            secret: Zeroizing::new(fields.array()?),
        })
    }
}

impl std::fmt::Debug for FactoryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FactoryFile(..)")
    }
}

/// A factory claims the invitation of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFile {
    /// The factory's right.
    pub id: [u8; 16],
    /// Name of the machine.
    pub name: Name,
    /// The nonce of its invitation, which only who has the right can compute.
    pub nonce: [u8; 32],
}

impl TextFile for ClaimFile {
    const LABEL: &'static str = "clew-claim-1";

    fn comment(&self) -> String {
        format!("clew claim of the invitation of machine {}.", self.name)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id);
        self.name.write(out);
        out.extend_from_slice(&self.nonce);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            id: fields.array()?,
            name: Name::read(fields)?,
            nonce: fields.array()?,
        })
    }
}
