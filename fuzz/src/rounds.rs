//! What device, issuer and trustees send each other, and what they keep meanwhile: each value has one
//! encoding, so that what decodes encodes to the same bytes.

use clew_group::Witness;
use clew_group::quorum::{
    Blind, Blinding, Broadcast, DealtShare, Decryption, Revealed, SecretShare, Set, Trustee,
};
use clew_group::xr::{Device, JoinRequest, Offer};

/// The messages of a join, what a device keeps meanwhile, and the witness that it gets at last.
pub fn join(data: &[u8]) {
    if let Ok(request) = JoinRequest::from_bytes(data) {
        assert_eq!(request.to_bytes(), data);
    }
    if let Ok(offer) = Offer::from_bytes(data) {
        assert_eq!(offer.to_bytes(), data);
        assert_eq!(offer.a().to_bytes(), data[..48]);
        assert_eq!(offer.x().to_bytes(), data[48..80]);
        assert_eq!(offer.s().to_bytes(), data[80..]);
    }
    if let Ok(device) = Device::from_bytes(data) {
        assert_eq!(device.to_bytes()[..], *data);
    }
    if let Ok(witness) = Witness::from_bytes(data) {
        assert_eq!(witness.to_bytes(), data);
    }
}

/// What trustees send and keep, in a DKG and in a match.
pub fn quorum(data: &[u8]) {
    if let Ok(broadcast) = Broadcast::from_bytes(data) {
        assert_eq!(broadcast.to_bytes(), data);
        assert_eq!(broadcast.dealer().index(), data[0]);
    }
    if let Ok(share) = DealtShare::from_bytes(data) {
        assert_eq!(share.to_bytes()[..], *data);
    }
    if let Ok(decryption) = Decryption::from_bytes(data) {
        assert_eq!(decryption.to_bytes(), data);
    }
    if let Ok(blind) = Blind::from_bytes(data) {
        assert_eq!(blind.to_bytes(), data);
    }
    if let Ok(set) = Set::from_bytes(data) {
        assert_eq!(set.to_bytes(), data);
        assert_eq!(set.iter().count(), usize::from(set.count()));
    }
    let trustee = Trustee::new(1).expect("1 is an index");
    if let Ok(share) = SecretShare::from_bytes(trustee, data) {
        assert_eq!(share.to_bytes()[..], *data);
    }
    if let Ok(blinding) = Blinding::from_bytes(trustee, data) {
        assert_eq!(blinding.into_bytes(), data);
    }
    if let Ok(revealed) = Revealed::from_bytes(trustee, data) {
        assert_eq!(revealed.into_bytes(), data);
    }
}
