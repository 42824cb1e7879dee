//! The issuer's secret and what members have, by the equations and not by the issuer's code.

use super::NONCE;
use clew_evidence::{DeviceEntry, EntryKey, GroupId, KeyOrigin, RegisterEntry};
use clew_group::curve::{G1, G2, Scalar};
use clew_group::{EpochId, MemberKey, Scheme, Step, Witness, domain_separator};
use ed25519_dalek::{Signer, SigningKey as DeviceKey};
use sha2::{Digest, Sha256};

pub struct Issuer {
    pub scheme: Scheme,
    pub gamma: Scalar,
}

pub fn secret_x(machine: usize) -> Scalar {
    Scalar::from_u128(1000 + machine as u128)
}

fn secret_y(machine: usize) -> Scalar {
    Scalar::from_u128(2000 + machine as u128)
}

pub fn device_key(machine: usize) -> DeviceKey {
    DeviceKey::from_bytes(&[100 + machine as u8; 32])
}

fn hashed(name: &str, message: &[u8]) -> G1 {
    let domain = format!("{name}:BLS12381G1_XMD:SHA-256_SSWU_RO_");
    G1::hash(domain.as_bytes(), message)
}

/// V of epoch 0, as the specification derives it.
pub fn first_v(scheme: Scheme) -> G1 {
    hashed(
        &format!("clew-{scheme}-v-1"),
        &[&NONCE[..], &[0; 4]].concat(),
    )
}

/// V of a rebase, likewise.
pub fn rebased_v(scheme: Scheme, epoch: u32, id: &EpochId) -> G1 {
    let message = [&NONCE[..], &epoch.to_be_bytes(), &id.0].concat();
    hashed(&format!("clew-{scheme}-v-1"), &message)
}

fn h0() -> G1 {
    hashed("clew-xr-h0-1", &NONCE)
}

/// The proof of a machine's y, for some statement.
pub fn proof_of_y(machine: usize, statement: &[u8]) -> [u8; 64] {
    let (y, k) = (secret_y(machine), Scalar::from_u128(3000 + machine as u128));
    let mut hash = Sha256::new_with_prefix(domain_separator("clew-xr-row-1"))
        .chain_update(Sha256::digest(statement));
    for point in [h0(), h0().mul(&y), h0().mul(&k)] {
        hash.update(point.to_bytes());
    }
    let mut c: [u8; 32] = hash.finalize().into();
    c[0] &= 0x3f;
    let s = k + Scalar::from_bytes(&c).unwrap() * y;
    [c, s.to_bytes()].concat().try_into().unwrap()
}

/// Has a machine vouch for the entry as it stands: by its device key, and by its y.
pub fn vouch(entry: &mut RegisterEntry, group: GroupId, machine: usize) {
    let statement = entry.statement(group);
    if let EntryKey::Xr(device) = &mut entry.key {
        device.signature = device_key(machine).sign(&statement).to_bytes();
        device.proof = proof_of_y(machine, &statement);
    }
}

impl Issuer {
    /// P^(1/(gamma+x))
    pub fn root(&self, point: &G1, x: &Scalar) -> G1 {
        point.mul(&(self.gamma + *x).invert().unwrap())
    }

    /// C of a machine.
    pub fn commitment(&self, machine: usize) -> G1 {
        h0().mul(&secret_y(machine))
    }

    /// A of a machine with some x.
    pub fn credential_with(&self, machine: usize, x: &Scalar) -> G1 {
        let certified = match self.scheme {
            Scheme::Bbs04 => G1::generator(),
            Scheme::Xr => hashed("clew-xr-g1-1", &NONCE) + self.commitment(machine),
        };
        self.root(&certified, x)
    }

    pub fn credential(&self, machine: usize) -> G1 {
        self.credential_with(machine, &secret_x(machine))
    }

    /// B of a machine where the epoch has this V.
    pub fn base(&self, machine: usize, v: &G1) -> G1 {
        self.credential(machine) + self.root(v, &secret_x(machine))
    }

    pub fn witness(&self, machine: usize, v: &G1) -> Witness {
        Witness::from_bytes(&self.root(v, &secret_x(machine)).to_bytes()).unwrap()
    }

    pub fn member_key(&self, machine: usize) -> MemberKey {
        let a = self.credential(machine).to_bytes();
        let (x, y) = (secret_x(machine).to_bytes(), secret_y(machine).to_bytes());
        let bytes = match self.scheme {
            Scheme::Bbs04 => [&a[..], &x].concat(),
            Scheme::Xr => [&a[..], &x, &y].concat(),
        };
        MemberKey::from_bytes(self.scheme, &bytes).unwrap()
    }

    /// The step that revokes x in the epoch with that V.
    pub fn step(&self, v: &G1, x: &Scalar) -> Step {
        let next = self.root(v, x).to_bytes();
        Step::from_bytes(&[&x.to_bytes()[..], &next].concat()).unwrap()
    }

    /// A chain of steps.
    pub fn steps(&self, v: &G1, xs: impl IntoIterator<Item = Scalar>) -> Vec<Step> {
        let mut v = *v;
        let each = xs.into_iter().map(|x| {
            let step = self.step(&v, &x);
            v = *step.v();
            step
        });
        each.collect()
    }

    /// The entry of a machine, for which it vouches.
    pub fn entry(&self, machine: usize, group: GroupId) -> RegisterEntry {
        let key = device_key(machine);
        let late = machine == super::LATE || machine == super::REISSUED;
        let own_host = self.scheme == Scheme::Xr && machine != super::LATE;
        let name = if machine == super::REISSUED {
            super::REVOKED
        } else {
            machine
        };
        let mut entry = RegisterEntry {
            index: machine as u32,
            joined: if late { 3 } else { 0 },
            how: if own_host {
                KeyOrigin::OwnHost
            } else {
                KeyOrigin::IssuerHost
            },
            replaces: (machine == super::REISSUED).then_some(super::REVOKED as u32),
            credential: self.credential(machine).to_bytes(),
            name: format!("web-{name}").parse().unwrap(),
            key: match self.scheme {
                Scheme::Bbs04 => {
                    let x = G2::generator().mul(&secret_x(machine));
                    EntryKey::Bbs04(Box::new(x.to_bytes()))
                }
                Scheme::Xr => EntryKey::Xr(DeviceEntry {
                    commitment: self.commitment(machine).to_bytes(),
                    key: key.verifying_key().to_bytes(),
                    signature: [0; 64],
                    proof: [0; 64],
                }),
            },
        };
        vouch(&mut entry, group, machine);
        entry
    }
}
