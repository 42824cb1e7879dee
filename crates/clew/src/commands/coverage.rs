//! Which packets of a capture one signature covers, and which of them was asked about.

use super::evidence::Evidence;
use super::fragments::{Fragments, Whole};
use crate::capture::Capture;
use crate::cli::PacketOf;
use crate::failure::Failure;
use crate::groups::read_group_file;
use clew_engine::AsFrame;
use clew_evidence::GroupFile;
use clew_packet::{Block, Flow, GroupTag, Mode, SignedPacket, read, window_hash};
use clew_wire::visible_word;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

/// Frame numbers that a text names; JSON names all that are kept.
const NAMED_MAX: usize = 10;

/// Frame numbers that are kept. A signature covers 1,024 packets at most, but a capture may repeat
/// them without end.
const NUMBERS_MAX: usize = 1 << 16;

/// Most packets that one signature covers.
const COVERED_MAX: usize = 1 << 16;

/// A packet that trustees and judges look at, and which packets its signature covers.
pub struct Matter {
    pub evidence: Evidence,
    pub coverage: Coverage,
}

impl Matter {
    /// The packet that a command names, verified, with its group.
    ///
    /// # Errors
    /// A file cannot be read, or not twice; the packet is not valid.
    pub fn read(of: &PacketOf) -> Result<(GroupFile, Self), Failure> {
        check_rereadable(&of.input)?;
        let group = read_group_file(&of.group)?;
        let evidence = Evidence::verified(&of.input, of.packet, &group)?;
        Ok((group, Self::of(&of.input, evidence)?))
    }

    /// A packet that is known, in that capture.
    ///
    /// # Errors
    /// As [`Coverage::of`].
    pub fn of(path: &Path, evidence: Evidence) -> Result<Self, Failure> {
        let coverage = Coverage::of(path, &evidence)?;
        Ok(Self { evidence, coverage })
    }
}

/// The capture that a small one was copied from: people know its packets by their numbers there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Original {
    /// Its file.
    pub capture: String,
    /// Frame numbers there of the frames that were copied, ascending.
    pub frames: Vec<u64>,
}

impl Original {
    /// The frame number there of a frame of the copy, if it has one.
    pub fn frame(&self, copied: u64) -> Option<u64> {
        let place = usize::try_from(copied.checked_sub(1)?).ok()?;
        self.frames.get(place).copied()
    }
}

/// The packets of a capture that a signature covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Their frame numbers, ascending: all of them, or 65,536 that were found first.
    pub packets: Vec<u64>,
    /// Whether there are more of them.
    pub more: bool,
    /// Frame number of the one that was asked about: the first, if the capture has it twice.
    pub asked: u64,
    /// If the capture is a part of another one, and its maker says of which.
    pub original: Option<Original>,
    /// How many packets the signature covers, as it says.
    pub covered: usize,
    /// How many of these are not in the capture.
    pub absent: usize,
    mode: Mode,
}

impl Coverage {
    /// Reads a capture for the packets that the verified signature of `evidence` covers.
    ///
    /// # Errors
    /// The capture cannot be read, or does not have the packet that was asked about.
    fn of(path: &Path, evidence: &Evidence) -> Result<Self, Failure> {
        let mut scans = scans(path, [evidence])?;
        let scan = scans.pop().unwrap_or_else(|| Scan::new(evidence));
        scan.coverage(path)
    }

    /// The same for several signatures, in one reading.
    ///
    /// # Errors
    /// As [`Coverage::of`].
    pub fn of_all(path: &Path, all: &[Evidence]) -> Result<Vec<Self>, Failure> {
        let scans = scans(path, all)?;
        scans.into_iter().map(|scan| scan.coverage(path)).collect()
    }

    /// What the signature covers, and what was asked for, for people.
    pub fn sentence(&self) -> String {
        let asked = match self.packets.len() {
            1 => String::new(),
            _ => format!("; asked for: {}", self.asked),
        };
        format!("covers {}{asked}", self.scope())
    }

    /// The packets that the signature covers, for people. Whoever chose the capture may have left packets out.
    pub fn scope(&self) -> String {
        let count = self.packets.len();
        let named = list(&self.packets, self.more);
        let (covered, absent) = (self.covered, self.absent);
        let are = if absent == 1 { "is" } else { "are" };
        let absent_said = format!("{absent} {are} not in this capture");
        let whole = match self.mode {
            Mode::Tree => "block",
            Mode::Window => "window",
            Mode::Each if count == 1 => return format!("only packet {named} of this capture"),
            Mode::Each => return format!("{count} copies of one packet of this capture: {named}"),
        };
        let count_said = match self.more {
            true => format!("{count} or more"),
            false => count.to_string(),
        };
        match (count, absent) {
            (1, 0) => format!("only packet {named} of this capture"),
            (_, 0) => format!("a {whole} of {count_said} packets of this capture: {named}"),
            (1, _) => format!(
                "packet {named} of this capture, one of a {whole} of {covered} packets: {absent_said}"
            ),
            (..) => format!(
                "{count_said} packets of this capture: {named}; they are of a {whole} of {covered} packets: \
                 {absent_said}"
            ),
        }
    }

    /// The packet that was asked about.
    pub fn packet(&self) -> String {
        let asked = self.asked;
        match self.original {
            Some(_) => format!("packet {asked} of the copied packets"),
            None => format!("packet {asked}"),
        }
    }

    /// The number of that packet in the original capture, in the words of whoever copied it.
    pub fn origin(&self) -> Option<String> {
        let (capture, frame) = self.packet_there()?;
        let capture = visible_word(capture);
        Some(format!(
            "packet {frame} of \"{capture}\", as the copy's maker says"
        ))
    }

    /// The same as name of the original capture and number there.
    pub fn packet_there(&self) -> Option<(&str, u64)> {
        let original = self.original.as_ref()?;
        Some((&original.capture, original.frame(self.asked)?))
    }
}

/// Checks that a capture can be read more than once.
///
/// # Errors
/// It is standard input, a pipe or a device.
pub fn check_rereadable(path: &Path) -> Result<(), Failure> {
    let metadata = path.metadata();
    match metadata.is_ok_and(|metadata| !metadata.is_file()) || path == Path::new("-") {
        true => Err(
            Failure::file(path, "the capture must be read more than once")
                .hint("save it to a file first"),
        ),
        false => Ok(()),
    }
}

/// The first numbers, and an ellipsis for the others.
fn list(numbers: &[u64], more: bool) -> String {
    let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(u64::to_string).collect();
    let rest = if more || numbers.len() > NAMED_MAX {
        ", ..."
    } else {
        ""
    };
    named.join(", ") + rest
}

/// The failure of a capture without the packet asked about, but with so many others of its signature.
pub fn not_there(path: &Path, others: usize) -> Failure {
    let why = match others {
        0 => "the capture does not contain the packet".to_owned(),
        1 => "the capture does not contain the packet, only one other packet with the same \
            signature"
            .to_owned(),
        n => format!(
            "the capture does not contain the packet, only {n} other packets with the same \
             signature"
        ),
    };
    Failure::file(path, why).hint("use a capture that contains the packet")
}

/// Reads a capture once for all packets of these signatures.
fn scans<'e>(
    path: &Path,
    all: impl IntoIterator<Item = &'e Evidence>,
) -> Result<Vec<Scan<'e>>, Failure> {
    let mut scans: Vec<Scan<'_>> = all.into_iter().map(Scan::new).collect();
    let (mut capture, mut fragments) = (
        Capture::open(path, "looking for its block")?,
        Fragments::new(),
    );
    while let Some(batch) = capture.next_batch()? {
        for whole in batch.into_iter().filter_map(|r| fragments.take(r)) {
            scans.iter_mut().for_each(|scan| scan.look(&whole));
        }
    }
    Ok(scans)
}

/// One reading of a capture.
struct Scan<'e> {
    evidence: &'e Evidence,
    packets: Numbers,
    /// Different packets, by what names each of them; [`COVERED_MAX`] at most.
    different: BTreeSet<[u8; 32]>,
    /// The packets before one of mode `window` were found.
    is_window_whole: bool,
    asked: Option<u64>,
    window: Option<Window>,
}

/// Different frame numbers, as many as are kept.
#[derive(Debug, Default)]
struct Numbers {
    kept: BTreeSet<u64>,
    more: bool,
}

impl Numbers {
    fn add(&mut self, number: u64) {
        if self.kept.len() < NUMBERS_MAX {
            self.kept.insert(number);
        } else if !self.kept.contains(&number) {
            self.more = true;
        }
    }
}

impl<'e> Scan<'e> {
    fn new(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            packets: Numbers::default(),
            different: BTreeSet::new(),
            is_window_whole: false,
            asked: None,
            window: evidence.window.clone(),
        }
    }

    fn coverage(self, path: &Path) -> Result<Coverage, Failure> {
        let shown = match self.is_window_whole {
            true => self.evidence.covered,
            false => self.different.len(),
        };
        let Self { packets, asked, .. } = self;
        let asked = asked.ok_or_else(|| not_there(path, packets.kept.len()))?;
        Ok(Coverage {
            packets: packets.kept.into_iter().collect(),
            more: packets.more,
            asked,
            original: None,
            covered: self.evidence.covered,
            absent: self.evidence.covered.saturating_sub(shown),
            mode: self.evidence.summary.mode,
        })
    }

    fn look(&mut self, Whole { record, numbers }: &Whole) {
        let (Some((frame, _)), Some(number)) = (record.as_frame(), numbers.first()) else {
            return;
        };
        let Ok(packet) = read(&frame) else { return };
        let number = *number;
        if self.evidence.covers(&packet) {
            // A capture that repeats a window without end is not hashed without end.
            let before = self.window.as_ref().filter(|_| !self.packets.more);
            let before = before.and_then(Window::before);
            self.is_window_whole |= before.is_some();
            let before = before.unwrap_or_default().into_iter();
            before.for_each(|number| self.packets.add(number));
            self.packets.add(number);
            if self.different.len() < COVERED_MAX {
                self.different.insert(packet.asked());
            }
            let is_asked = packet.asked() == self.evidence.asked;
            self.asked = self.asked.or(is_asked.then_some(number));
        }
        if let Some(window) = &mut self.window {
            window.push(&packet, number);
        }
    }
}

/// The packets of one flow that came last, as many as a window has before its last packet.
#[derive(Clone, Debug)]
pub struct Window {
    flow: Flow,
    group: GroupTag,
    /// How many packets are before the one with the signature.
    count: usize,
    /// What the trailer says that they hash to.
    h: [u8; 32],
    /// Frame numbers and digests, in the order of the capture.
    last: VecDeque<(u64, [u8; 32])>,
}

impl Window {
    /// The window before a packet, if it is of mode `window`.
    pub fn of(packet: &SignedPacket<'_>) -> Option<Self> {
        let Block::Window { k, h } = packet.trailer().block else {
            return None;
        };
        Some(Self {
            flow: packet.flow().key(),
            group: packet.trailer().group,
            count: usize::from(k) - 1,
            h: *h,
            last: VecDeque::new(),
        })
    }

    fn push(&mut self, packet: &SignedPacket<'_>, number: u64) {
        let trailer = packet.trailer();
        let is_of_window = matches!(trailer.block, Block::Window { .. });
        if !is_of_window || trailer.group != self.group || packet.flow().key() != self.flow {
            return;
        }
        self.last.push_back((number, packet.window_digest()));
        if self.last.len() > self.count {
            self.last.pop_front();
        }
    }

    /// The frame numbers of the packets before, if these are the ones that were signed.
    fn before(&self) -> Option<Vec<u64>> {
        if self.last.len() < self.count || self.count == 0 {
            return None;
        }
        let fits = window_hash(self.last.iter().map(|(_, digest)| *digest)) == self.h;
        fits.then(|| self.last.iter().map(|(number, _)| *number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_that_repeats_a_window_is_bounded() {
        let mut numbers = Numbers::default();
        let window = |last: u64| last - 1000..=last;
        (1000..1100).flat_map(window).for_each(|n| numbers.add(n));
        assert_eq!((numbers.kept.len(), numbers.more), (1100, false));
        (0..NUMBERS_MAX as u64).for_each(|n| numbers.add(n));
        assert_eq!((numbers.kept.len(), numbers.more), (NUMBERS_MAX, false));
        numbers.add(NUMBERS_MAX as u64);
        assert_eq!((numbers.kept.len(), numbers.more), (NUMBERS_MAX, true));
    }

    fn covered(packets: &[u64], covered: usize) -> Coverage {
        Coverage {
            packets: packets.to_vec(),
            more: false,
            asked: 2,
            original: None,
            covered,
            absent: covered - packets.len(),
            mode: Mode::Tree,
        }
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut whole = covered(&[1, 2, 3], 3);
        let all = "covers a block of 3 packets of this capture: 1, 2, 3; asked for: 2";
        assert_eq!(whole.sentence(), all);
        // A warrant names a signature, and nobody asked for a packet.
        let scope = "a block of 3 packets of this capture: 1, 2, 3";
        assert_eq!(whole.scope(), scope);
        whole.more = true;
        let few = "covers a block of 3 or more packets of this capture: 1, 2, 3, ...; asked for: 2";
        assert_eq!(whole.sentence(), few);
    }

    /// Whoever shows a packet to a court may have left out others of its block.
    #[test]
    fn packets_that_are_not_shown_are_counted() {
        assert_eq!(covered(&[2], 1).scope(), "only packet 2 of this capture");
        let one =
            "packet 2 of this capture, one of a block of 20 packets: 19 are not in this capture";
        assert_eq!(covered(&[2], 20).scope(), one);
        let some = "3 packets of this capture: 2, 4, 6; they are of a block of 4 packets: 1 is not in this \
                    capture";
        assert_eq!(covered(&[2, 4, 6], 4).scope(), some);
    }

    /// The name is a word of the maker's: it is never part of a sentence of the program.
    #[test]
    fn a_copied_packet_has_its_number_of_the_original_capture() {
        let mut coverage = covered(&[1, 2, 3], 3);
        assert_eq!(coverage.packet(), "packet 2");
        assert_eq!(coverage.origin(), None);
        coverage.original = Some(Original {
            capture: "in\x1b.pcap was sent".to_owned(),
            frames: vec![4, 6, 9],
        });
        assert_eq!(coverage.packet(), "packet 2 of the copied packets");
        let named =
            "packet 6 of \"in[U+001B].pcap[U+0020]was[U+0020]sent\", as the copy's maker says";
        assert_eq!(coverage.origin().as_deref(), Some(named));
        let covers = "covers a block of 3 packets of this capture: 1, 2, 3; asked for: 2";
        assert_eq!(coverage.sentence(), covers);
    }
}
