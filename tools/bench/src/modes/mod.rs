//! The modes of trailers over one flow: bytes, signing, and verifying when packets are lost.

mod receiving;
mod tables;
mod traffic;

use crate::design;
use crate::group::Group;
use crate::groups::rng;
use crate::loss::{self, Loss};
use crate::measure::Case;
use crate::options::Options;
use crate::report::{self, Source};
use clew_group::Scheme;
use receiving::{Counting, Keys};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::io;
use traffic::{PACKET_BYTES, Signer, WAYS, Way, packets, sign_all};

const DESIGN: &str = "design";

const SOURCES: [Source; 1] = [Source {
    name: DESIGN,
    caveat: "its simulation (flow-signatures 4.1) of 2^20 packets, 1000 for each verification and \
             0.66 for hashing a packet; windows as its \"best\", whole ones wherever they are",
}];

/// Losses come from these seeds in turn, one for each sample.
const SEEDS: u64 = 16;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let sent = packets(options.packets.unwrap_or(2048) as usize);
    let groups = [Scheme::Xr, Scheme::Bbs04].map(Group::new);
    let flows = groups.iter().flat_map(|group| flows(group, &sent));
    let flows: Vec<Flow<'_>> = flows.collect();
    let mut cases: Vec<Case<'_>> = flows.iter().flat_map(Flow::verifying).collect();
    cases.extend(hashing(&flows, &sent[0]));
    cases.extend(groups.iter().flat_map(|group| signing(group, &sent)));
    let (mut record, measured) = report::measure(options, &SOURCES, cases)?;
    record.notes.push(tables::note(sent.len()));
    record.tables = tables::all(&groups, &flows, &sent, &measured);
    record.print(options.json)
}

/// How often packets were verified at some loss.
#[derive(Default)]
struct Tally {
    verifications: Cell<usize>,
    packets: Cell<usize>,
}

impl Tally {
    fn add(&self, verifications: usize, packets: usize) {
        let add = |to: &Cell<usize>, n| to.set(to.get() + n);
        add(&self.verifications, verifications);
        add(&self.packets, packets);
    }

    /// Verifications for each received packet.
    fn each(&self) -> f64 {
        self.verifications.get() as f64 / self.packets.get() as f64
    }
}

/// The flow, signed in one way.
struct Flow<'g> {
    group: &'g Group,
    way: Way,
    signed: Vec<Vec<u8>>,
    losses: Vec<(Loss, Tally)>,
}

fn flows<'g>(group: &'g Group, sent: &[Vec<u8>]) -> impl Iterator<Item = Flow<'g>> {
    WAYS.into_iter().map(move |way| {
        let losses = match (group.scheme, way) {
            (Scheme::Xr, _) => &loss::ALL[..],
            (Scheme::Bbs04, Way::Each) => &[loss::NONE],
            (Scheme::Bbs04, _) => &loss::SOME,
        };
        Flow {
            group,
            way,
            signed: sign_all(group, way, false, sent),
            losses: losses
                .iter()
                .map(|loss| (*loss, Tally::default()))
                .collect(),
        }
    })
}

impl Flow<'_> {
    fn row(&self, loss: Loss) -> String {
        let (scheme, way) = (self.group.name(), self.way.name());
        format!("{scheme}-{way}-{}", loss.name())
    }

    fn verifying(&self) -> impl Iterator<Item = Case<'_>> {
        let losses = self.losses.iter();
        losses.map(|(loss, tally)| self.verifying_at(*loss, tally))
    }

    fn verifying_at<'a>(&'a self, loss: Loss, tally: &'a Tally) -> Case<'a> {
        let keys = Keys(self.group.verifier.clone());
        let mut seeds = (1..=SEEDS).cycle();
        let input = move || {
            let seed = seeds.next().unwrap_or(1);
            let arrivals = loss.arrivals(seed, self.signed.len());
            (arrivals, Counting::new(seed), receiving::receiver(&keys))
        };
        let work = move |(arrivals, mut rng, receiver): (Vec<usize>, Counting, _)| {
            let valid = receiving::verify(receiver, &self.signed, &arrivals, &mut rng);
            assert_eq!(valid, arrivals.len(), "every packet is valid");
            tally.add(rng.verifications(), valid);
            valid
        };
        let about = if loss.bursty {
            "per packet that arrived, % lost in bursts"
        } else {
            "per packet that arrived, % lost"
        };
        let case = Case::per_piece(self.row(loss), about, input, work);
        let case = case.against(self.row(loss::NONE));
        match quoted(self.way, loss) {
            Some(figure) => case.quote(DESIGN, figure),
            None => case,
        }
    }
}

/// The design's figure.
fn quoted(way: Way, loss: Loss) -> Option<f64> {
    let scheme = match way {
        Way::Each => "each".into(),
        Way::Window(k) => format!("window-{k}-best"),
        Way::Tree(m) => format!("tree-{m}-full"),
    };
    design::us(&scheme, loss)
}

/// What is left when no group signature is verified.
fn hashing<'a>(flows: &'a [Flow<'a>], packet: &'a [u8]) -> Vec<Case<'a>> {
    let hash = Case::new("hash", "SHA-256 of a packet of 1277 bytes", move || {
        Sha256::digest(packet)
    });
    let receive = |flow: &'a Flow<'a>| {
        let keys = Keys(flow.group.verifier.clone());
        let name = format!("receive-{}", flow.way.name());
        let about = "steps 1 to 6: all but signatures and hashes of windows";
        let receiver = move || receiving::receiver(&keys);
        let work = |receiver| receiving::receive(receiver, &flow.signed);
        Case::with_input(name, about, receiver, work).each_of(flow.signed.len())
    };
    let of_xr = flows.iter().filter(|flow| flow.group.scheme == Scheme::Xr);
    [hash].into_iter().chain(of_xr.map(receive)).collect()
}

/// Signing, with precursors made ahead and without.
fn signing<'a>(group: &'a Group, sent: &'a [Vec<u8>]) -> impl Iterator<Item = Case<'a>> {
    WAYS.into_iter().flat_map(move |way| {
        [
            signing_ready(group, way, sent),
            signing_all(group, way, sent),
        ]
    })
}

fn signing_ready<'a>(group: &'a Group, way: Way, sent: &'a [Vec<u8>]) -> Case<'a> {
    let mut rng = rng(4);
    let mut sign = warm(group, way, sent);
    Case::with_input(
        format!("{}-ready-{}", group.name(), way.name()),
        "signing, per packet, with a precursor",
        move || group.signer.precursor(&mut rng),
        move |precursor| sign.sign(&sent[..way.packets()], || precursor).len(),
    )
    .each_of(way.packets())
}

fn signing_all<'a>(group: &'a Group, way: Way, sent: &'a [Vec<u8>]) -> Case<'a> {
    let mut rng = rng(5);
    let mut sign = warm(group, way, sent);
    let work = move || {
        let precursor = || group.signer.precursor(&mut rng);
        sign.sign(&sent[..way.packets()], precursor).len()
    };
    let name = format!("{}-sign-{}", group.name(), way.name());
    let case = Case::new(name, "signing, per packet, all of it", work);
    let case = case.each_of(way.packets());
    case.against(format!("{}-sign-each", group.name()))
}

/// A signer whose window is full.
fn warm(group: &Group, way: Way, sent: &[Vec<u8>]) -> Signer {
    let mut signer = Signer::new(group.scheme, way, false);
    let before = if let Way::Window(k) = way { k } else { 0 };
    let mut rng = rng(6);
    for packet in &sent[..before.into()] {
        let precursor = || group.signer.precursor(&mut rng);
        signer.sign(std::slice::from_ref(packet), precursor);
    }
    signer
}

/// What signing adds to a packet at most, over these packets.
fn added_bytes(group: &Group, way: Way, incremental: bool, sent: &[Vec<u8>]) -> usize {
    let signed = sign_all(group, way, incremental, &sent[..way.packets()]);
    let most = signed.iter().map(Vec::len).max().unwrap_or(0);
    most - PACKET_BYTES
}
