//! A group of either scheme, for programs to which that is all the same.

use crate::groups::{EPOCH, XrGroup, rng};
use clew_group::{MemberKey, PublicKey, Scheme, SigningKey, VerifyingKey, bbs04};
use std::sync::Arc;

/// A group of either scheme with its one member.
pub struct Group {
    pub scheme: Scheme,
    pub signer: SigningKey,
    pub verifier: Arc<VerifyingKey>,
}

impl Group {
    pub fn new(scheme: Scheme) -> Self {
        let (public, member) = match scheme {
            Scheme::Xr => {
                let XrGroup { public, member, .. } = XrGroup::new();
                (PublicKey::Xr(public), MemberKey::Xr(member))
            }
            Scheme::Bbs04 => {
                let rng = &mut rng(1);
                let (_, opening) = bbs04::OpenerKey::generate(&[7; 32], rng);
                let (issuer, issuing) = bbs04::IssuerKey::generate(rng);
                let public = bbs04::PublicKey::genesis(&opening, &issuing);
                let member = issuer.issue_random(&public, rng);
                (PublicKey::Bbs04(public), MemberKey::Bbs04(member))
            }
        };
        Self {
            scheme,
            signer: SigningKey::new(&public, EPOCH, member).expect("the issuer's own key"),
            verifier: Arc::new(VerifyingKey::new(&public, EPOCH)),
        }
    }

    /// As it stands in the names of rows.
    pub fn name(&self) -> &'static str {
        match self.scheme {
            Scheme::Xr => "xr",
            Scheme::Bbs04 => "bbs04",
        }
    }
}
