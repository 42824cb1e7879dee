//! Vectors of flows that eFFS signs.

use clew_flow::effs::{Instance, SecretKey, Signer};
use clew_flow::{Algorithm, Chaining, Descriptor, Distribution, FlowSender, WallTime};
use clew_tree::carriage::TagSize;

use crate::case::Case;
use crate::drawn::Drawn;
use crate::make::damage::Damage;
use crate::make::effs::good::{SHORT, TWO, shortened};
use crate::make::flow::signature::{FORMAT, Place, TIME, coded, contents};
use crate::make::hash;

pub fn all() -> Vec<Case> {
    [descriptors(), blocks()].into_iter().flatten().collect()
}

fn flow(key: &SecretKey) -> Descriptor {
    let key = key.public().as_bytes();
    Descriptor::new(Chaining::default(), Algorithm::Effs, key, "effs").unwrap()
}

fn descriptors() -> Vec<Case> {
    let case = |name: &str, expect: &str, comment: &str, bytes: &[u8]| {
        Case::new(FORMAT, &format!("effs-descriptor{name}"), expect, comment).text("check", "descriptor").hex("descriptor", bytes)
    };
    let good = flow(&SHORT);
    let key = SHORT.public().as_bytes();
    let bad = |name: &str, comment: &str, key: &[u8]| {
        let length = (key.len() as u16).to_be_bytes();
        let bytes = [&good.to_bytes()[..9], &length, key, b"\x04effs"].concat();
        case(name, "bad-descriptor", comment, &bytes)
    };
    let n_last = key[5 + 255];
    vec![
        case("", "valid", "A key of eFFS.", &good.to_bytes()).hex("digest", good.digest()).hex("key-id", good.key_id().0),
        bad("-long", "Its signatures have 2,288 bytes.", &shortened(key)),
        bad("-even", "n is even.", &key.set(260, [n_last ^ 1])),
        bad("-short", "A byte of the key is missing.", &key[1..]),
        bad("-rule", "A key by no rule.", &key.set(0, [3])),
    ]
}

fn sign(key: &SecretKey, label: &str, count: u16, distribution: Distribution) -> Vec<Vec<u8>> {
    let (place, contents) = (Place::new(label), contents(count));
    let drawn = [&place.tag[..], &place.seq.to_be_bytes(), &place.id, &hash(label.as_bytes())];
    let mut drawn = Drawn::new(&drawn);
    let signer = Signer::new(key, || Instance([0; 32]));
    let mut sender = FlowSender::new(flow(key), signer, &mut drawn).unwrap();
    let packets: Vec<&[u8]> = contents.iter().map(|content| &content[..]).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    sender.sign_block(&packets, distribution, WallTime::from_nanos(TIME), &mut drawn, &mut outs).unwrap();
    outs
}

fn judged(name: &str, comment: &str, key: &SecretKey, (expect, reason): (&str, &str), packets: &[Vec<u8>]) -> Case {
    let case = Case::new(FORMAT, name, expect, comment).text("check", "packets").hex("descriptor", flow(key).to_bytes());
    packets.iter().fold(case, |case, packet| case.hex("packet", packet).text("reason", reason)).hex("time", TIME.to_be_bytes())
}

fn blocks() -> Vec<Case> {
    let full = sign(&TWO, "effs full", 2, Distribution::Every);
    let shares = sign(&SHORT, "effs coded", 9, coded(25, Some(TagSize::T8)));
    // The last byte of y_2, behind which the hash of x_2 and the fixed fields stand.
    let at = full[0].len() - 40 - 32 - 1;
    let changed = full[0].flip(at);
    let weak = ("weak", "weak");
    let (ok, bad) = (("valid", "ok"), ("bad-signature", "bad-signature"));
    vec![
        judged("effs-full", "A block that eFFS signs, of two levels.", &TWO, ok, &full),
        judged("effs-coded", "Shares of a signature of 272 bytes.", &SHORT, ok, &shares),
        judged("effs-weak", "Verified to 64 bits, and not refuted.", &TWO, weak, &full[..1])
            .hex("assurance", 64u16.to_be_bytes()),
        judged("effs-second-row", "All levels are verified, if nothing else is said.", &TWO, bad, &[changed]),
    ]
}
