//! Precursors in vector lanes.

use super::{Commitments, Nonces, Precursor, SigningKey};
use crate::curve::{G1, PART_COUNT, SecretBase, SecretScalars, Sum, Vectors};
use crate::secret::shielded;
use crate::xr::{PublicKey, challenge};
use alloc::vec::Vec;

/// Tables of the bases of one epoch.
pub(super) struct Eight {
    vectors: Vectors,
    u: SecretBase,
    h: SecretBase,
    h0: SecretBase,
    h_w: SecretBase,
    b: SecretBase,
}

impl Eight {
    pub(super) fn new(vectors: Vectors, group: &PublicKey, b: &G1) -> Self {
        let [u, h, h0, h_w, b] = [&group.u, &group.h, &group.h0, &group.h_w, b]
            .map(|base| SecretBase::new(vectors, base));
        Self {
            vectors,
            u,
            h,
            h0,
            h_w,
            b,
        }
    }
}

impl SigningKey {
    /// A precursor from each nonce, as [`SigningKey::precursor_from`] makes it.
    pub(super) fn eight_precursors(
        &self,
        eight: &Eight,
        nonces: &[Nonces; PART_COUNT],
    ) -> Vec<Precursor> {
        shielded(|| {
            let commitments = self
                .eight_commitments(eight, nonces)
                .into_iter()
                .zip(nonces.iter());
            let precursors = commitments.map(|(commitments, n)| {
                let state = challenge::state(&self.id, &commitments.encoded);
                Precursor::new(state, commitments, self.secrets(n))
            });
            precursors.collect()
        })
    }

    /// [`SigningKey::commitments`] of each nonce.
    fn eight_commitments(
        &self,
        eight: &Eight,
        nonces: &[Nonces; PART_COUNT],
    ) -> [Commitments; PART_COUNT] {
        let alpha = SecretScalars::of(|lane| nonces[lane].alpha);
        let ra = SecretScalars::of(|lane| nonces[lane].ra);
        let rx = SecretScalars::of(|lane| nonces[lane].rx);
        let of_h = SecretScalars::of(|lane| {
            let n = &nonces[lane];
            n.alpha * n.rx - n.rd
        });
        let minus_ry = SecretScalars::of(|lane| -nonces[lane].ry);
        let minus_ra = SecretScalars::of(|lane| -nonces[lane].ra);
        let sum = |start, products| Sum { start, products };
        let sums = eight.vectors.secret_sums([
            sum(None, &[(&eight.u, &alpha)]),
            sum(Some(&self.b), &[(&eight.h, &alpha)]),
            sum(None, &[(&eight.u, &ra)]),
            sum(
                None,
                &[
                    (&eight.b, &rx),
                    (&eight.h, &of_h),
                    (&eight.h0, &minus_ry),
                    (&eight.h_w, &minus_ra),
                ],
            ),
        ]);
        sums.map(|sums| Commitments {
            points: sums.map(|(point, _)| point),
            encoded: sums.map(|(_, encoded)| encoded),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EpochId;
    use crate::curve::Scalar;
    use crate::xr::{Device, Generators, IssuerKey};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn signer() -> SigningKey {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let issuer = IssuerKey::generate(&mut rng);
        let h = Generators::of(&[1; 32]).u.mul(&Scalar::from_u128(5));
        let (group, _) = issuer.found(&[1; 32], &h, &mut rng);
        let (device, request) = Device::new(&group, &[2; 32], &mut rng);
        let x = Scalar::from_u128(9);
        let offer = issuer.offer(&group, &[2; 32], &request, &x, &Scalar::from_u128(4));
        let key = device.accept(&group, &offer.unwrap()).unwrap();
        let witness = issuer.in_epoch(&group, []).witness(&x).unwrap();
        SigningKey::new(&group, EpochId([7; 32]), key, &witness).unwrap()
    }

    /// Random nonces, and chosen ones: zeros, whose points are the identity, ones, and minus one.
    #[test]
    fn they_are_those_of_one_by_one() {
        let signer = signer();
        // Other machines make them one by one.
        let Some(eight) = &signer.eight else {
            return;
        };
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let all = |k: Scalar| Nonces {
            alpha: k,
            ra: k,
            rx: k,
            rd: k,
            ry: k,
        };
        let chosen = [
            Scalar::default(),
            Scalar::from_u128(1),
            -Scalar::from_u128(1),
        ];
        let nonces = core::array::from_fn(|lane| match chosen.get(lane) {
            Some(k) => all(*k),
            None => Nonces::random(&mut rng),
        });
        for (n, own) in nonces.iter().zip(signer.eight_commitments(eight, &nonces)) {
            let plain = signer.commitments(n);
            assert_eq!(own.points, plain.points);
            assert_eq!(own.encoded, plain.encoded);
        }
    }

    #[test]
    fn any_number_of_them_is_made() {
        let signer = signer();
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for count in [0, 1, 2, 3, 8, 11] {
            let precursors = signer.precursors(count, &mut rng);
            assert_eq!(precursors.len(), count);
            let encoded = precursors
                .iter()
                .map(|precursor| precursor.commitments.encoded);
            let mut encoded: Vec<_> = encoded.collect();
            encoded.sort_unstable();
            encoded.dedup();
            assert_eq!(encoded.len(), count, "no two are alike");
        }
    }
}
