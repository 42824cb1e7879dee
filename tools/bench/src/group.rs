//! A group of either scheme, for programs to which that is all the same.

use crate::groups::{EPOCH, NONCE, XrGroup, rng};
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
        let (public, member, witness) = match scheme {
            Scheme::Xr => {
                let group = XrGroup::new();
                let (public, member) = (group.public, group.member);
                (PublicKey::Xr(public), MemberKey::Xr(member), group.witness)
            }
            Scheme::Bbs04 => {
                let rng = &mut rng(1);
                let (_, opening) = bbs04::OpenerKey::generate(&NONCE, rng);
                let (issuer, issuing) = bbs04::IssuerKey::generate(rng);
                let public = bbs04::PublicKey::genesis(&NONCE, &opening, &issuing);
                let member = issuer.issue_random(rng);
                let witness = issuer.in_epoch(&public, []).witness(member.x());
                let witness = witness.expect("nobody is revoked");
                (PublicKey::Bbs04(public), MemberKey::Bbs04(member), witness)
            }
        };
        let signer = SigningKey::new(&public, EPOCH, member, &witness);
        Self {
            scheme,
            signer: signer.expect("the issuer's own key"),
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
