//! Trustees who answer.

use super::{Fixture, XR, rng};
use clew_evidence::{
    Asked, Combined, DeviceEntry, EntryKey, Fault, FoundRow, JudgeRule, Match, OpenedBase, Opening,
    Packet, Question, RegisterEntry, Request, Search, Share, Step, combine_match, combine_opening,
    gather_blinds, gather_commitments, judge_match, judge_opening,
};
use clew_group::curve::G1;
use clew_group::quorum::{Blinding, Set, Trustee};

pub fn trustee(index: u8) -> Trustee {
    Trustee::new(index).unwrap()
}

pub fn set(indices: &[u8]) -> Set {
    Set::of(indices.iter().map(|index| trustee(*index))).unwrap()
}

impl Fixture {
    pub fn request(&self, machine: usize) -> Request {
        let packet = self.packet(machine);
        Request::new(&self.group, Question::Opening, &packet, Some([8; 32])).unwrap()
    }

    /// Asks about the packet of one machine whether another sent it.
    pub fn match_request(&self, sender: usize, asked_for: usize) -> Request {
        let machine = self.entries[asked_for].leaf_hash();
        let question = Question::Match { machine };
        Request::new(&self.group, question, &self.packet(sender), None).unwrap()
    }

    /// The opening shares of those trustees for a packet of this machine.
    pub fn opening_shares(&self, machine: usize, trustees: &[u8]) -> Vec<Share> {
        self.answers(&self.request(machine), &self.packet(machine), trustees)
    }

    /// The opening shares of those trustees for any packet.
    pub fn answers(&self, request: &Request, packet: &Packet<'_>, trustees: &[u8]) -> Vec<Share> {
        let asked = Asked::new(&self.group, request, packet).unwrap();
        let share = |index: &u8| {
            let at = usize::from(*index) - 1;
            let parts = asked.parts();
            let pairs = parts.iter().zip(&self.shares);
            let given = pairs.map(|(part, of)| part.decrypt(&of[at], &mut rng(*index as u64)));
            Share {
                request: request.clone(),
                trustee: trustee(*index),
                step: Step::Opening(given.collect::<Result<_, _>>().unwrap()),
            }
        };
        trustees.iter().map(share).collect()
    }

    /// The row that an opened base leads to, asked for one by one.
    pub fn find(&self, search: &Search) -> Option<FoundRow> {
        let mut all = (0..self.entries.len()).map(|machine| self.found(machine));
        all.find(|found| search.fits(&found.row.entry, found.x.as_ref()))
    }

    pub fn combined(&self, machine: usize, shares: &[Share]) -> Combined<Opening> {
        let (request, packet) = (self.request(machine), self.packet(machine));
        let find = |opened: OpenedBase| self.find(&opened.search());
        combine_opening(&self.group, &request, shares, &packet, find).unwrap()
    }

    pub fn opening(&self, machine: usize) -> Opening {
        self.combined(machine, &self.opening_shares(machine, &[3, 1]))
            .evidence
    }

    /// Commitments, blinds and shares of a match by those trustees.
    pub fn match_shares(&self, sender: usize, asked_for: usize, who: &[u8]) -> [Vec<Share>; 3] {
        let request = self.match_request(sender, asked_for);
        self.match_answers(&request, sender, &self.bases[asked_for], who)
    }

    /// The same about any base.
    pub fn match_answers(
        &self,
        request: &Request,
        sender: usize,
        base: &G1,
        who: &[u8],
    ) -> [Vec<Share>; 3] {
        let asked = Asked::new(&self.group, request, &self.packet(sender)).unwrap();
        let set = set(who);
        let question = asked.question(set, base).unwrap();
        let share = |index: u8, step| Share {
            request: request.clone(),
            trustee: trustee(index),
            step,
        };
        let (mut kept, mut commitments) = (vec![], vec![]);
        for index in who {
            let mut rng = rng(u64::from(*index) + 50);
            let (blinding, commitment) = question.begin(trustee(*index), &mut rng).unwrap();
            kept.push(blinding);
            commitments.push(share(*index, Step::Commitment { set, commitment }));
        }
        let (_, committed) = gather_commitments(request, &commitments).unwrap();
        let (mut revealed, mut blinds) = (vec![], vec![]);
        for (index, blinding) in who.iter().zip(kept) {
            let blinding = Blinding::from_bytes(trustee(*index), &blinding.into_bytes()[..]);
            let (state, blind) = blinding.unwrap().reveal(&question, &committed).unwrap();
            revealed.push(state);
            blinds.push(share(*index, Step::Blind { set, blind }));
        }
        let (_, all) = gather_blinds(request, &blinds).unwrap();
        let mut shares = vec![];
        for (index, state) in who.iter().zip(revealed) {
            let secret = &self.shares[0][usize::from(*index) - 1];
            let decryption = state.share(&question, &all, secret, &mut rng(9)).unwrap();
            let step = Step::Match {
                set,
                blinds: all.clone(),
                decryption,
            };
            shares.push(share(*index, step));
        }
        [commitments, blinds, shares]
    }

    pub fn matched(&self, sender: usize, asked_for: usize, who: &[u8]) -> Combined<Match> {
        let [_, _, shares] = self.match_shares(sender, asked_for, who);
        combine_match(
            &self.group,
            &self.match_request(sender, asked_for),
            &shares,
            &self.packet(sender),
            &self.bases[asked_for],
            self.found(asked_for),
        )
        .unwrap()
    }
}

pub fn fault(rule: JudgeRule) -> Fault {
    Fault::from(rule)
}

pub fn blamed(rule: JudgeRule, trustee: Trustee) -> Fault {
    Fault {
        rule,
        trustee: Some(trustee),
    }
}

/// Judges an opening of machine 0 after a change.
pub fn opening_fault(fixture: &Fixture, change: impl FnOnce(&mut Opening)) -> Fault {
    let mut opening = fixture.opening(0);
    change(&mut opening);
    judge_opening(&fixture.group, &opening, &fixture.packet(0)).unwrap_err()
}

/// Judges a match that says yes about machine 0 after a change.
pub fn match_fault(change: impl FnOnce(&mut Match)) -> Fault {
    let mut matched = XR.matched(0, 0, &[2, 4]).evidence;
    change(&mut matched);
    judge_match(&XR.group, &matched, &XR.packet(0)).unwrap_err()
}

pub fn device_of(entry: &mut RegisterEntry) -> &mut DeviceEntry {
    match &mut entry.key {
        EntryKey::Xr(device) => device,
        EntryKey::Bbs04(_) => unreachable!("an entry of xr"),
    }
}
