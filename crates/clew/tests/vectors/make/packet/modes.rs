//! Vectors of windows and blocks, in the group of xr. Three packets of one flow, each with its own
//! payload; the nonces of a block are those of its first packet's label.

use clew_packet::{Candidate, Mode, Policy, Reason, Sender, Verdict, Window};
use clew_tree::DigestSize;

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::records::NOW;
use crate::make::groups::xr_group::{NEWEST, XR};
use crate::make::packet::frames::*;

pub fn all() -> Vec<Case> {
    flat([blocks(), vec![reordered()], windows(), bad_blocks(), bad_signatures()])
}

fn flow(count: usize) -> Vec<Owned> {
    let packet = |i: usize| raw(ipv4(&[], UDP, &udp(format!("packet {i}").as_bytes())));
    (0..count).map(packet).collect()
}

fn sender(policy: Policy) -> Sender {
    Sender::new(clew_group::Scheme::Xr, XR.records.id(), NEWEST as u32, policy)
}

fn admitted<'a>(packets: &'a [Owned], policy: Policy, mode: Mode) -> Vec<Candidate<'a>> {
    let (sender, mut out) = (sender(policy), Vec::new());
    let admit = |p: &'a Owned| sender.admit(&p.frame(), mode, packets.len() as u16, &mut out);
    packets.iter().map(admit).collect::<Result<_, _>>().unwrap()
}

pub const ID: &[u8; 16] = b"the block's id..";

/// The packets of one block, signed.
pub fn block(count: usize, policy: Policy, label: &str) -> Vec<Owned> {
    let (packets, mut outs) = (flow(count), vec![Vec::new(); count]);
    let candidates = admitted(&packets, policy, Mode::Tree);
    let precursor = || XR.precursor_of("web-1", NEWEST, label);
    sender(policy).sign_block(&candidates, Some(NOW), *ID, precursor, &mut outs).expect(label);
    outs.into_iter().map(raw).collect()
}

/// The packets of a flow in windows of k, signed.
fn in_windows(count: usize, k: u16, label: &str) -> Vec<Owned> {
    let packets = flow(count);
    let mut window = Window::new(k);
    let sign = |(i, packet): (usize, Candidate<'_>)| {
        let mut out = Vec::new();
        let precursor = || XR.precursor_of("web-1", NEWEST, &format!("{label}-{i}"));
        sender(PLAIN).sign_in_window(&packet, Some(NOW), &mut window, precursor, &mut out);
        raw(out)
    };
    let candidates = admitted(&packets, PLAIN, Mode::Window);
    candidates.into_iter().enumerate().map(sign).collect()
}

fn blocks() -> Vec<Case> {
    let sizes = [(1, DigestSize::D16), (2, DigestSize::D24), (5, DigestSize::D16), (3, DigestSize::D32)];
    let mut cases = Vec::new();
    for (count, digest) in sizes {
        let label = format!("xr-tree-{count}");
        for (i, packet) in block(count, Policy { digest, ..PLAIN }, &label).iter().enumerate() {
            let (name, comment) =
                (format!("{label}-{i}"), format!("Packet {i} of a block of {count}, digests of {} bytes.", digest.bytes()));
            cases.push(valid_in_block(&name, &comment, packet));
        }
    }
    cases
}

/// Step 9: the second of five packets, after the fourth.
fn reordered() -> Case {
    let packets = block(5, PLAIN, "xr-tree-5");
    let comment = "Of one block, the fourth packet arrived before the second.";
    judged("xr-reordered", "reordered", comment, Verdict::Valid, &packets[1]).hex("earlier-frame", &packets[3].bytes)
}

fn windows() -> Vec<Case> {
    let packets = in_windows(4, 3, "xr-window");
    let cases = packets.iter().enumerate().map(|(i, packet)| {
        let (name, comment) = (format!("xr-window-{i}"), format!("Packet {i} of a flow in windows of up to 3."));
        valid_in_block(&name, &comment, packet)
    });
    cases.collect()
}

/// Where the block section of the second of five packets begins, from the frame's end: head and
/// foot, three digests, the fixed part.
const TREE: usize = 31 + 3 * 16 + 22;
/// Likewise for a window.
const WINDOW: usize = 31 + 34;

fn second_of_five() -> Owned {
    block(5, PLAIN, "xr-tree-5").remove(1)
}

fn patched(frame: &Owned, from_end: usize, values: &[u8]) -> Owned {
    raw(frame.bytes.set(frame.bytes.len() - from_end, values))
}

fn refused(reason: Reason, more: &str, comment: &str, frame: &Owned) -> Case {
    let name = format!("xr-{reason}-{more}");
    judged(&name, reason.as_str(), comment, Verdict::Invalid, frame)
}

fn bad_blocks() -> Vec<Case> {
    let (tree, window) = (second_of_five(), in_windows(1, 3, "xr-window").remove(0));
    // Index, count, digest size, depth.
    let in_tree = |more: &str, comment: &str, values: [u8; 6]| {
        let frame = patched(&tree, TREE - 16, &values);
        refused(Reason::BadBlock, more, comment, &frame)
    };
    let in_window =
        |more: &str, comment: &str, values: &[u8]| refused(Reason::BadBlock, more, comment, &patched(&window, WINDOW, values));
    let longer = patched(&tree, TREE - 21, &[4]);
    let comment = "A path of three digests that says it has four.";
    vec![
        in_tree("index", "Packet 5 of 5.", [0, 5, 0, 5, 16, 3]),
        in_tree("empty", "A block of no packets.", [0, 1, 0, 0, 16, 3]),
        in_tree("count", "A block of 1,025 packets.", [0, 1, 4, 1, 16, 3]),
        in_tree("digest", "Six digests of 8 bytes.", [0, 1, 0, 5, 8, 6]),
        in_tree("depth", "Packet 1 of 4 has a path of two digests, not three.", [0, 1, 0, 4, 16, 3]),
        in_window("k-zero", "A window of no packets.", &[0, 0]),
        in_window("k", "A window of 1,025 packets.", &[4, 1]),
        in_window("h", "A window of one packet, and a hash.", &[0, 1, 7]),
        refused(Reason::BadTrailerLength, "path", comment, &longer),
    ]
}

fn bad_signatures() -> Vec<Case> {
    let (tree, window) = (second_of_five(), in_windows(2, 3, "xr-window").remove(1));
    let flip = |frame: &Owned, from_end: usize| raw(frame.bytes.flip(frame.bytes.len() - from_end));
    let cases = [
        ("path", "A bit of the path is flipped.", flip(&tree, 31 + 40)),
        ("block-id", "A bit of the block's id is flipped.", flip(&tree, TREE - 3)),
        ("block-index", "A packet of a block says that it is another.", patched(&tree, TREE - 17, &[2])),
        ("block-payload", "A bit of a packet of a block is flipped.", flip(&tree, TREE + 288 + 3)),
        ("window-h", "A bit of h is flipped.", flip(&window, 31 + 5)),
    ];
    let case = |(more, comment, frame): (&str, &str, Owned)| refused(Reason::BadSignature, more, comment, &frame);
    cases.into_iter().map(case).collect()
}
