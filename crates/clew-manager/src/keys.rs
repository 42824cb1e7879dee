//! Key files: the member's, the issuer's, a trustee's. Formats in `spec/key-file.md`.

use crate::armor;
use clew_evidence::{GroupId, Name};
use clew_group::bbs04::{
    IssuerKey, MEMBER_KEY_BYTES, MemberKey, OPENER_KEY_BYTES, OpenerKey, PUBLIC_KEY_BYTES,
    PublicKey,
};
use ed25519_dalek::SigningKey;
use std::fmt;
use zeroize::Zeroizing;

const MEMBER_LABEL: &str = "clew-member-key-1";
const ISSUER_LABEL: &str = "clew-issuer-key-1";
const TRUSTEE_LABEL: &str = "clew-trustee-key-1";
const SCHEME_BBS04: u8 = 1;

/// Why a key file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The text is not a key file.
    NotAKey,
    /// It is a key file of another kind.
    Label {
        /// The kind it says it is.
        found: String,
        /// The kind that was asked for.
        wanted: String,
    },
    /// The text was changed: base64, checksum or a field is wrong.
    Damaged,
    /// The passphrase or key file does not open it.
    WrongSecret,
}

impl KeyError {
    /// The rule's name in `spec/key-file.md` section 4.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotAKey => "not-a-key",
            Self::Label { .. } => "label",
            Self::Damaged => "damaged",
            Self::WrongSecret => "wrong-secret",
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAKey => f.write_str("this is not a clew key file"),
            Self::Label { found, wanted } => {
                write!(f, "this is a {found}, and a {wanted} is needed")
            }
            Self::Damaged => f.write_str("the key file is damaged"),
            Self::WrongSecret => f.write_str("the passphrase or key file does not open it"),
        }
    }
}

impl std::error::Error for KeyError {}

/// A machine's key with what signing needs to know about its group.
#[derive(Clone, Debug)]
pub struct MemberKeyFile {
    /// The group.
    pub group: GroupId,
    /// The epoch that the key signs in.
    pub epoch: u32,
    /// Name of the machine, for its owner's eyes.
    pub machine: Name,
    /// Public key of that epoch.
    pub public: PublicKey,
    /// The secret.
    pub key: MemberKey,
}

impl MemberKeyFile {
    /// The text of the file. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let name = self.machine.as_str().as_bytes();
        let mut out = Zeroizing::new(vec![SCHEME_BBS04]);
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.push(name.len() as u8);
        out.extend_from_slice(name);
        out.extend_from_slice(&self.public.to_bytes());
        out.extend_from_slice(self.key.to_bytes().as_slice());
        armor::encode(&self.comment(), MEMBER_LABEL, &out)
    }

    /// What the file's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew member key of machine {}, group {}, epoch {}. SECRET: it signs as this machine.",
            self.machine, self.group, self.epoch
        )
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, MEMBER_LABEL)?;
        Self::from_payload(&payload).ok_or(KeyError::Damaged)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let (head, rest) = payload
            .strip_prefix(&[SCHEME_BBS04])?
            .split_at_checked(21)?;
        let (name, rest) = rest.split_at_checked(usize::from(head[20]))?;
        let (public, key) = rest.split_at_checked(PUBLIC_KEY_BYTES)?;
        Some(Self {
            group: group_id(&head[..16])?,
            epoch: u32::from_be_bytes(head[16..20].try_into().ok()?),
            machine: std::str::from_utf8(name).ok()?.parse().ok()?,
            public: PublicKey::from_bytes(public).ok()?,
            key: MemberKey::from_bytes(key.get(..MEMBER_KEY_BYTES).filter(|k| *k == key)?).ok()?,
        })
    }
}

/// The issuer's secrets: gamma, the manager's signing key, and the seed that members' x derive from.
#[derive(Debug)]
pub struct IssuerKeyFile {
    /// The group.
    pub group: GroupId,
    /// gamma.
    pub issuer: IssuerKey,
    /// Signs the parts of the group file.
    pub manager: SigningKey,
    /// From which each member's x is derived, so that the database holds no secret.
    pub seed: Zeroizing<[u8; 32]>,
}

impl IssuerKeyFile {
    /// The text of the file. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let mut out = Zeroizing::new(self.group.0.to_vec());
        out.extend_from_slice(self.issuer.to_bytes().as_slice());
        out.extend_from_slice(Zeroizing::new(self.manager.to_bytes()).as_slice());
        out.extend_from_slice(self.seed.as_slice());
        armor::encode(&self.comment(), ISSUER_LABEL, &out)
    }

    /// What the file's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew issuer key of group {}. SECRET: it enrols, revokes, and could sign as any machine.",
            self.group
        )
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, ISSUER_LABEL)?;
        Self::from_payload(&payload).ok_or(KeyError::Damaged)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let (group, secrets) = payload.split_at_checked(16)?;
        let [gamma, manager, seed]: [Zeroizing<[u8; 32]>; 3] = secrets
            .chunks(32)
            .map(|chunk| chunk.try_into().map(Zeroizing::new).ok())
            .collect::<Option<Vec<_>>>()?
            .try_into()
            .ok()?;
        Some(Self {
            group: group_id(group)?,
            issuer: IssuerKey::from_bytes(gamma.as_slice()).ok()?,
            manager: SigningKey::from_bytes(&manager),
            seed,
        })
    }
}

/// A trustee's share of the opening key: for `bbs04` the whole of it.
#[derive(Debug)]
pub struct TrusteeKeyFile {
    /// The group.
    pub group: GroupId,
    /// Which trustee, from 1.
    pub index: u8,
    /// xi1 and xi2.
    pub opener: OpenerKey,
}

impl TrusteeKeyFile {
    /// The text of the file. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let mut out = Zeroizing::new(vec![SCHEME_BBS04]);
        out.extend_from_slice(&self.group.0);
        out.push(self.index);
        out.extend_from_slice(self.opener.to_bytes().as_slice());
        armor::encode(&self.comment(), TRUSTEE_LABEL, &out)
    }

    /// What the file's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew trustee key {} of group {}. SECRET: it opens packets. Move it away from the issuer.",
            self.index, self.group
        )
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, TRUSTEE_LABEL)?;
        Self::from_payload(&payload).ok_or(KeyError::Damaged)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let (head, key) = payload
            .strip_prefix(&[SCHEME_BBS04])?
            .split_at_checked(17)?;
        let key = key.get(..OPENER_KEY_BYTES).filter(|k| *k == key)?;
        let index = Some(head[16]).filter(|i| *i != 0)?;
        Some(Self {
            group: group_id(&head[..16])?,
            index,
            opener: OpenerKey::from_bytes(key).ok()?,
        })
    }
}

fn group_id(bytes: &[u8]) -> Option<GroupId> {
    bytes.try_into().ok().map(GroupId)
}
