//! A trustee's key.

use super::scheme;
use crate::TextFile;
use clew_evidence::GroupId;
use clew_evidence::wire::Reader;
use clew_group::Scheme;
use clew_group::quorum::{SecretShare, Trustee};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const ID_DOMAIN: &[u8] = b"clew-trustee-key-id-1";

/// What one trustee holds of an opening key.
#[derive(Debug)]
pub enum OpeningShare {
    /// Of xi1 and of xi2.
    Bbs04([SecretShare; 2]),
    /// Of xi.
    Xr(SecretShare),
}

impl OpeningShare {
    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }

    /// The shares of xi1 and xi2, or of xi.
    pub fn shares(&self) -> &[SecretShare] {
        match self {
            Self::Bbs04(both) => both,
            Self::Xr(one) => std::slice::from_ref(one),
        }
    }
}

/// A trustee's share of the opening key.
#[derive(Debug)]
pub struct TrusteeKeyFile {
    /// The group.
    pub group: GroupId,
    /// The epoch since which this share counts.
    pub since: u32,
    /// The secret.
    pub share: OpeningShare,
}

impl TrusteeKeyFile {
    /// Which trustee.
    pub fn trustee(&self) -> Trustee {
        match &self.share {
            OpeningShare::Bbs04([share, _]) | OpeningShare::Xr(share) => share.trustee(),
        }
    }

    /// Names the key, and tells nothing of it: a hash.
    pub fn id(&self) -> [u8; 8] {
        let digest = Sha256::new_with_prefix(ID_DOMAIN)
            .chain_update(self.payload())
            .finalize();
        std::array::from_fn(|i| digest[i])
    }
}

impl TextFile for TrusteeKeyFile {
    const LABEL: &'static str = "clew-trustee-key-1";

    fn comment(&self) -> String {
        format!(
            "clew trustee key {} of group {}. SECRET: with others it opens packets. Keep it on its trustee's host only.",
            self.trustee(),
            self.group
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.share.scheme().code());
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.since.to_be_bytes());
        out.push(self.trustee().index());
        for share in self.share.shares() {
            out.extend_from_slice(share.to_bytes().as_slice());
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let scheme = scheme(fields)?;
        let (group, since) = (fields.array()?, fields.u32()?);
        let trustee = Trustee::new(fields.u8()?).ok()?;
        let mut share = || {
            let bytes = Zeroizing::new(fields.array::<32>()?);
            SecretShare::from_bytes(trustee, bytes.as_slice()).ok()
        };
        let share = match scheme {
            Scheme::Bbs04 => OpeningShare::Bbs04([share()?, share()?]),
            Scheme::Xr => OpeningShare::Xr(share()?),
        };
        Some(Self {
            group: GroupId(group),
            since,
            share,
        })
    }
}
