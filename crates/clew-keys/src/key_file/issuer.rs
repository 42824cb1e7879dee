//! The issuer's key.

use super::scheme;
use crate::TextFile;
use clew_evidence::GroupId;
use clew_evidence::wire::Reader;
use clew_group::curve::Scalar;
use clew_group::{DecodeError, EpochIssuer, PublicKey, Scheme, bbs04, xr};
use ed25519_dalek::SigningKey;
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

const X_INFO: &[u8] = b"clew-x-1";
const S_INFO: &[u8] = b"clew-s-1";
const FACTORY_INFO: &[u8] = b"clew-factory-1";

/// gamma, of either scheme.
#[derive(Debug)]
pub enum IssuerKey {
    /// Of BBS04.
    Bbs04(bbs04::IssuerKey),
    /// Of XR.
    Xr(xr::IssuerKey),
}

impl IssuerKey {
    fn from_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, DecodeError> {
        match scheme {
            Scheme::Bbs04 => bbs04::IssuerKey::from_bytes(bytes).map(Self::Bbs04),
            Scheme::Xr => xr::IssuerKey::from_bytes(bytes).map(Self::Xr),
        }
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }

    /// The issuer of one epoch, which gives witnesses to everybody but the machines with these x:
    /// those that are revoked in it. Returns `None` if `group` is of the other scheme.
    pub fn in_epoch(
        &self,
        group: &PublicKey,
        revoked: impl IntoIterator<Item = Scalar>,
    ) -> Option<EpochIssuer> {
        match (self, group) {
            (Self::Bbs04(key), PublicKey::Bbs04(group)) => Some(key.in_epoch(group, revoked)),
            (Self::Xr(key), PublicKey::Xr(group)) => Some(key.in_epoch(group, revoked)),
            _ => None,
        }
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Bbs04(key) => key.to_bytes(),
            Self::Xr(key) => key.to_bytes(),
        }
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
    /// From which each machine's x and s are derived, so that the database holds no secret.
    pub seed: Zeroizing<[u8; 32]>,
}

impl TextFile for IssuerKeyFile {
    const LABEL: &'static str = "clew-issuer-key-1";

    fn comment(&self) -> String {
        let power = match self.issuer {
            IssuerKey::Bbs04(_) => "it enrols, revokes, and could sign as any machine",
            IssuerKey::Xr(_) => "it enrols and revokes",
        };
        format!("clew issuer key of group {}. SECRET: {power}.", self.group)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.issuer.scheme().code());
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.issuer.to_bytes());
        out.extend_from_slice(Zeroizing::new(self.manager.to_bytes()).as_slice());
        out.extend_from_slice(self.seed.as_slice());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let (scheme, group) = (scheme(fields)?, fields.array()?);
        let gamma = Zeroizing::new(fields.array::<32>()?);
        let manager = Zeroizing::new(fields.array()?);
        let seed = Zeroizing::new(fields.array()?);
        Some(Self {
            group: GroupId(group),
            issuer: IssuerKey::from_bytes(scheme, gamma.as_slice()).ok()?,
            manager: SigningKey::from_bytes(&manager),
            seed,
        })
    }
}

impl IssuerKeyFile {
    /// The secret of a factory's right to invite (`spec/key-file.md` section 4.1).
    pub fn factory_secret(&self, id: &[u8; 16]) -> Zeroizing<[u8; 32]> {
        let mut secret = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(Some(id), self.seed.as_slice())
            .expand(FACTORY_INFO, secret.as_mut_slice())
            .expect("32 bytes are within HKDF's limit");
        secret
    }

    /// x of the machine with this salt and name (`spec/key-file.md` section 2).
    pub fn derive_x(&self, salt: &[u8], name: &str) -> Scalar {
        self.derive(salt, X_INFO, name)
    }

    /// s of the offer with this salt, to the machine with this name.
    pub fn derive_s(&self, salt: &[u8], name: &str) -> Scalar {
        self.derive(salt, S_INFO, name)
    }

    fn derive(&self, salt: &[u8], info: &[u8], name: &str) -> Scalar {
        let mut wide = Zeroizing::new([0; 64]);
        Hkdf::<Sha256>::new(Some(salt), self.seed.as_slice())
            .expand_multi_info(&[info, name.as_bytes()], wide.as_mut_slice())
            .expect("64 bytes are within HKDF's limit");
        Scalar::from_wide(&wide)
    }
}
