//! A join of XR, round by round.

use crate::groups::{SESSION, XrGroup, rng};
use crate::measure::Case;
use clew_group::curve::Scalar;
use clew_group::xr::Device;

/// What a device says of its row, in about as many bytes.
const ROW: &[u8] = &[7; 180];

/// The rows, in the order of the rounds.
pub fn all(group: &XrGroup) -> Vec<Case<'_>> {
    let XrGroup {
        issuer,
        public,
        member,
        witness,
        ..
    } = group;
    let (mut of_device, mut random, mut of_row) = (rng(4), rng(5), rng(7));
    let (device, request) = Device::new(public, &SESSION, &mut rng(6));
    let [x, s] = [(); 2].map(|()| Scalar::random(&mut random));
    let offer = issuer.offer(public, &SESSION, &request, &x, &s);
    let offer = offer.expect("the device knows y'");
    assert!(device.accept(public, &offer).is_ok());
    let commitment = member.commitment(public);
    let proof = member.prove_y(public, ROW, &mut of_row);
    vec![
        Case::new("join-ask", "device: y', C' and its proof", move || {
            Device::new(public, &SESSION, &mut of_device)
        }),
        Case::new("join-offer", "issuer: checks, x, s and A", move || {
            issuer.offer(public, &SESSION, &request, &x, &s)
        }),
        Case::new("join-accept", "device: checks the offer", move || {
            device.accept(public, &offer).is_ok()
        }),
        Case::new("join-prove", "device: the proof of y", move || {
            member.prove_y(public, ROW, &mut of_row)
        }),
        Case::new(
            "join-check-proof",
            "issuer and judge: that proof",
            move || public.proof_of_y_holds(&commitment, ROW, &proof),
        ),
        Case::new("join-witness", "issuer: W of this epoch", move || {
            issuer.in_epoch(public, []).witness(member.x()).is_ok()
        }),
        Case::new(
            "join-check",
            "device: that key and witness fit their epoch",
            move || member.check(public, witness).is_ok(),
        ),
    ]
}
