//! The text form of shares.

use crate::common::{BBS04, XR};
use clew_evidence::Share;

#[test]
fn shares_round_trip() {
    let mut shares: Vec<Share> = BBS04.opening_shares(0, &[1, 2]);
    shares.extend(XR.opening_shares(1, &[3]));
    shares.extend(XR.match_shares(0, 1, &[1, 3]).into_iter().flatten());
    for share in shares {
        let text = share.encode();
        assert!(text.contains("\nclew-share-1 "));
        assert_eq!(Share::decode(&text), Ok(share));
    }
}

#[test]
fn comments_say_what_a_share_is() {
    let opening = XR.opening_shares(0, &[1]);
    let steps = XR
        .match_shares(0, 0, &[1, 2])
        .map(|shares| shares[0].clone());
    let what = [
        "opening share",
        "commitment to a blind",
        "blind",
        "match share",
    ];
    for (share, what) in opening.iter().chain(&steps).zip(what) {
        let group = XR.group.id();
        let comment = format!("# clew {what} of trustee 1, group {group}, epoch 2. Not secret.\n");
        assert!(share.encode().starts_with(&comment), "{what}");
    }
}

#[test]
fn share_rules() {
    let [_, _, shares] = XR.match_shares(0, 0, &[1, 2]);
    let payload = clew_evidence::armor::decode(&shares[0].encode(), "clew-share-1").unwrap();
    // Step; trustee 0; trustee outside its set; a step of an opening; the domain.
    for (at, value) in [(0, 5), (207, 0), (207, 3), (0, 1), (1, 0)] {
        let mut bytes = payload.to_vec();
        bytes[at] = value;
        let text = clew_evidence::armor::encode("", "clew-share-1", &bytes);
        assert_eq!(
            Share::decode(&text).unwrap_err().as_str(),
            "damaged",
            "byte {at}"
        );
    }
    let longer = [&payload[..], &[0]].concat();
    let text = clew_evidence::armor::encode("", "clew-share-1", &longer);
    assert_eq!(Share::decode(&text).unwrap_err().as_str(), "damaged");
    assert_eq!(Share::decode("").unwrap_err().as_str(), "not-a-key");
    let other = clew_evidence::armor::encode("", "clew-opening-1", &payload);
    assert_eq!(Share::decode(&other).unwrap_err().as_str(), "label");
}
