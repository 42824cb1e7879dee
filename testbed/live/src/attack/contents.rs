//! What the attacker's datagrams hold.

use super::ears::{MAGIC, SHIM};
use super::{Attack, Kind};
use clew_packet::fragment;
use line::SplitMix;

/// Shares and tags of a signature are among so many last bytes.
const POLLUTED: usize = 80;
/// Bytes of an oversized datagram.
const OVERSIZED: usize = 4_000;
/// The longest datagram in one packet.
const LONGEST: usize = 1_472;
/// Headers of a carrier's datagram, and of a trailer: a malformed one differs there.
const HEADERS: usize = 48;
const IP: usize = 20;
/// Trailers have fewer bytes.
const TRAILER: usize = 260;
/// Bytes of a carrier's fragment, and of what is cut: the last part has a single byte.
const PART: usize = 1_000;
const WHOLE: usize = (fragment::FRAGMENTS_MAX as usize - 1) * PART + 1;
/// Last parts of a whole that are wrong: a receiver hashes the whole for each.
const WRONG: usize = 16;

/// Makes one payload after the other.
pub struct Contents<'a> {
    attack: &'a Attack,
    templates: Vec<Vec<u8>>,
    /// Fragments of a whole that are still to be sent, the last ones first.
    fragments: Vec<Vec<u8>>,
    is_alone: bool,
}

impl<'a> Contents<'a> {
    pub fn of(attack: &'a Attack, templates: Vec<Vec<u8>>) -> Self {
        Self {
            attack,
            templates,
            fragments: Vec::new(),
            is_alone: false,
        }
    }

    /// What others are made of.
    pub fn templates(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.templates
    }

    pub fn next(&mut self, random: &mut Random) -> Vec<u8> {
        let Attack { kind, length, .. } = *self.attack;
        if kind == Kind::CarrierFragments {
            return self.fragment(random);
        }
        if self.templates.is_empty() {
            return random.bytes(usize::from(length));
        }
        let mut payload = self.templates[random.below(self.templates.len())].clone();
        // The IP header of a packet stays.
        let first = if self.attack.packets { IP } else { 0 };
        match kind {
            Kind::Altered => {
                // The trailer stays, too: what it signs is another packet.
                let behind = if self.attack.packets { TRAILER } else { 0 };
                let end = payload.len().saturating_sub(behind).max(first);
                let kept = (first + self.attack.keep).min(end);
                let bytes = random.bytes(end - kept);
                payload[kept..end].copy_from_slice(&bytes);
            }
            Kind::Bit => {
                let at = first + random.below(payload.len() - first);
                payload[at] ^= 1 << random.below(8);
            }
            Kind::Polluted => {
                let last = POLLUTED.min(payload.len() - first);
                let at = payload.len() - 1 - random.below(last);
                payload[at] ^= 1 + random.below(255) as u8;
            }
            Kind::Oversized => {
                let more = OVERSIZED.saturating_sub(payload.len());
                payload.extend(random.bytes(more));
            }
            Kind::Malformed => self.malform(&mut payload, first, random),
            Kind::Random
            | Kind::Replay
            | Kind::Fragments
            | Kind::Forged
            | Kind::CarrierFragments => {}
        }
        payload
    }

    fn malform(&self, payload: &mut Vec<u8>, first: usize, random: &mut Random) {
        let body = payload.len() - first;
        match random.below(4) {
            0 => payload.truncate(first + random.below(body)),
            1 => {
                let room = LONGEST.saturating_sub(payload.len());
                let more = random.below(room + 1);
                payload.extend(random.bytes(more));
            }
            2 => {
                let at = random.below(HEADERS.min(body));
                // A trailer ends with what others have first.
                let at = match self.attack.packets {
                    true => payload.len() - 1 - at,
                    false => at,
                };
                payload[at] ^= 1 + random.below(255) as u8;
            }
            _ => {
                let bytes = random.bytes(body);
                payload[first..].copy_from_slice(&bytes);
                let magic = MAGIC.len().min(body);
                payload[first..first + magic].copy_from_slice(&MAGIC[..magic]);
                if let Some([version, kind]) = payload.get_mut(first + magic..first + SHIM) {
                    (*version, *kind) = (1, *kind & 3);
                }
            }
        }
    }

    /// A fragment without the others, or the next one of a whole.
    fn fragment(&mut self, random: &mut Random) -> Vec<u8> {
        self.is_alone = !self.is_alone;
        if self.fragments.is_empty() {
            let whole = [MAGIC, &[1, 1], &random.bytes(WHOLE - SHIM)].concat();
            self.fragments = fragments(&whole);
        }
        let alone = || self.fragments.last().cloned().unwrap_or_default();
        if self.is_alone {
            let mut fragment = alone();
            let id = random.bytes(16);
            fragment[SHIM..SHIM + 16].copy_from_slice(&id);
            return fragment;
        }
        self.fragments.pop().unwrap_or_default()
    }
}

/// All parts of a whole but its last one, and wrong ones in its place. The first is the last of the list.
fn fragments(whole: &[u8]) -> Vec<Vec<u8>> {
    // Magic, version and type; id, index and count.
    let (mut all, most) = (Vec::new(), PART + SHIM + 18);
    let Ok(length) = fragment::split(whole, most, None, &mut all) else {
        return Vec::new();
    };
    let mut parts: Vec<Vec<u8>> = all.chunks(length).map(<[u8]>::to_vec).collect();
    let last = parts.pop().unwrap_or_default();
    let wrong = (1..=WRONG as u8).map(|other| {
        let mut wrong = last.clone();
        wrong
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|byte| *byte ^= other);
        wrong
    });
    parts.extend(wrong);
    parts.reverse();
    parts
}

/// Numbers that are the same for the same seed.
pub struct Random(SplitMix);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix(seed))
    }

    pub fn next(&mut self) -> u64 {
        (self.0.share() * (1u64 << 53) as f64) as u64
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.0.share() * end as f64) as usize
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(6)).map(|_| self.next().to_le_bytes());
        words
            .flat_map(|word| word.into_iter().take(6))
            .take(count)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::attack;
    use super::*;

    fn one(kind: Kind, template: &[u8], random: &mut Random) -> Vec<u8> {
        Contents::of(&attack(kind), vec![template.to_vec()]).next(random)
    }

    #[test]
    fn templates_are_altered_where_they_may_be() {
        let (template, random) = ([9; 40], &mut Random::new(7));
        let altered = one(Kind::Altered, &template, random);
        assert_eq!((altered.len(), &altered[..4]), (40, &[9; 4][..]));
        assert_ne!(altered, template);
        let bit = one(Kind::Bit, &template, random);
        let changed: u32 = bit.iter().map(|byte| (byte ^ 9).count_ones()).sum();
        assert_eq!(changed, 1);
        assert_eq!(one(Kind::Replay, &template, random), template);
        assert_eq!(one(Kind::Oversized, &template, random).len(), OVERSIZED);
    }

    #[test]
    fn polluted_datagrams_differ_in_one_byte_behind() {
        let polluted = one(Kind::Polluted, &[9; 400], &mut Random::new(7));
        let differ: Vec<usize> = (0..400).filter(|at| polluted[*at] != 9).collect();
        assert!(
            matches!(differ[..], [at] if at >= 400 - POLLUTED),
            "{differ:?}"
        );
    }

    /// Addresses of a packet stay, whatever becomes of the rest; no content is too short to be altered.
    #[test]
    fn packets_keep_their_ip_header() {
        let random = &mut Random::new(7);
        let attack = |kind| Attack {
            packets: true,
            ..attack(kind)
        };
        for kind in [Kind::Altered, Kind::Bit, Kind::Polluted, Kind::Malformed] {
            for length in [21, 40, 400] {
                let (attack, template) = (attack(kind), vec![9; length]);
                let mut contents = Contents::of(&attack, vec![template.clone()]);
                let made: Vec<_> = (0..200).map(|_| contents.next(random)).collect();
                assert!(
                    made.iter().all(|one| one[..IP] == template[..IP]),
                    "{kind:?}"
                );
                let is_other = |one: &Vec<u8>| *one != template;
                assert!(
                    kind == Kind::Altered || made.iter().any(is_other),
                    "{kind:?}"
                );
            }
        }
    }

    /// Half of them are alone; of the others each whole has all parts but the last, which is wrong.
    #[test]
    fn fragments_of_the_carrier_never_make_a_whole() {
        let (attack, random) = (attack(Kind::CarrierFragments), &mut Random::new(7));
        let mut contents = Contents::of(&attack, Vec::new());
        let made: Vec<_> = (0..2 * 79).map(|_| contents.next(random)).collect();
        let id = |payload: &[u8]| payload[SHIM..SHIM + 16].to_vec();
        let whole = id(&made[1]);
        let parts: Vec<_> = made.iter().filter(|one| id(one) == whole).collect();
        assert_eq!(parts.len(), 63 + WRONG);
        let index = |payload: &[u8]| payload[SHIM + 16];
        assert!((0..63).all(|at| index(parts[at]) == at as u8));
        let last: Vec<_> = parts[63..].iter().map(|one| one.last()).collect();
        assert!(
            parts[63..]
                .iter()
                .all(|one| index(one) == 63 && one.len() == 25)
        );
        let mut distinct = last.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), WRONG);
        assert!(made.iter().all(|one| one.starts_with(MAGIC)));
    }
}
