//! A join of XR, message by message.

use crate::groups::{SESSION, XrGroup, offered, rng};
use crate::measure::Case;
use clew_group::xr::Device;

/// The rows, in the order of the messages.
pub fn all(group: &XrGroup) -> Vec<Case<'_>> {
    let XrGroup {
        issuer, public, x, ..
    } = group;
    let (mut of_device, mut of_issuer) = (rng(4), rng(5));
    let ask = || Device::new(public, &SESSION, &mut rng(6));
    let (_, request) = ask();
    let offer = issuer.offer(public, &SESSION, &request, x, &mut of_issuer);
    let offer = offer.expect("the device knows y");
    let a_0 = offer.credential();
    let credential = move || {
        let scale = issuer.scale(&[]).expect("nobody is revoked");
        scale.credential(&a_0, x)
    };
    let given = credential();
    vec![
        Case::new("join-ask", "device: y, C and its proof", move || {
            Device::new(public, &SESSION, &mut of_device)
        }),
        Case::new(
            "join-offer",
            "issuer: checks, A, D and its proof",
            move || issuer.offer(public, &SESSION, &request, x, &mut of_issuer),
        ),
        Case::with_input(
            "join-accept",
            "device: checks the offer",
            move || ask().0,
            move |device| device.accept(public, &offer).is_ok(),
        ),
        Case::new("join-credential", "issuer: A of this epoch", credential),
        Case::with_input(
            "join-finish",
            "device: checks the credential",
            || offered(issuer, public, x),
            move |accepted| accepted.finish(public, &given).is_ok(),
        ),
    ]
}
