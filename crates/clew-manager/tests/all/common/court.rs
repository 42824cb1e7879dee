//! What tests of trustees share: their answers, and comparisons under way.

use super::{NOW, Sent, TestGroup, rng, set};
use clew_evidence::{
    CheckedGroup, CombineError, FoundRow, GroupFile, Judgement, OpenedBase, Opening, Packet,
    Question, Request, Row, Search, Share, combine_opening,
};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_group::quorum::Set;
use clew_trustee::approval::Shown;
use clew_trustee::rules::{Candidate, Case};
use clew_trustee::{Responder, TrusteeError};

impl Sent {
    pub fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: self.epoch,
            message: &self.message,
            body: &self.body,
            leaf: None,
        }
    }

    pub fn request(&self, group: &GroupFile, question: Question) -> Request {
        Request::new(group, question, &self.packet(), None).unwrap()
    }

    pub fn opening(&self, group: &GroupFile) -> Request {
        self.request(group, Question::Opening)
    }

    pub fn comparison(&self, group: &GroupFile, row: &Row) -> Request {
        let machine = row.entry.leaf_hash();
        self.request(group, Question::Match { machine })
    }
}

impl TestGroup {
    /// The row of a machine with its x.
    pub fn found(&self, name: &str) -> FoundRow {
        let machine = self.store.machine(name).unwrap().unwrap();
        let is_xr = machine.entry.scheme() == Scheme::Xr;
        FoundRow {
            row: self.store.row(&machine).unwrap(),
            x: is_xr.then(|| machine.x(&self.issuer)),
        }
    }

    /// The row that the store finds for an opened base.
    pub fn find(&self, epoch: u32, search: Search) -> Option<FoundRow> {
        let mut progress = |_, _| true;
        let found = self
            .store
            .find_signer(&self.issuer, epoch, search, &mut progress);
        found.unwrap()
    }
}

/// What trustee `index` answers to a request for an opening.
pub fn share(
    acme: &TestGroup,
    index: u8,
    sent: &Sent,
    request: &Request,
) -> Result<Share, TrusteeError> {
    let (key, path) = (acme.trustee(index), acme.trustee_path(index));
    let (group, packet) = (acme.checked(), sent.packet());
    let case = Case {
        group: &group,
        request,
        packet: &packet,
        shown: Shown::default(),
    };
    Responder::new(&key, &path)
        .unwrap()
        .open(case, NOW, &mut rng(100 + u64::from(index)))
}

/// A match under way: one packet, one machine.
pub struct Comparison<'a> {
    pub acme: &'a TestGroup,
    pub group: CheckedGroup,
    pub sent: Sent,
    pub found: FoundRow,
    pub base: G1,
    pub request: Request,
}

impl<'a> Comparison<'a> {
    pub fn new(acme: &'a TestGroup, sent: Sent, machine: &str) -> Self {
        let (group, found) = (acme.checked(), acme.found(machine));
        let base = acme.base(machine, sent.epoch).unwrap();
        let request = sent.comparison(&group, &found.row);
        Self {
            acme,
            group,
            sent,
            found,
            base,
            request,
        }
    }

    fn as_trustee<T>(
        &self,
        index: u8,
        act: impl FnOnce(Responder<'_>, Case<'_>, Candidate<'_>) -> T,
    ) -> T {
        let (key, path) = (self.acme.trustee(index), self.acme.trustee_path(index));
        let packet = self.sent.packet();
        let case = Case {
            group: &self.group,
            request: &self.request,
            packet: &packet,
            shown: Shown::default(),
        };
        let with = Candidate {
            found: &self.found,
            base: &self.base,
        };
        act(Responder::new(&key, &path).unwrap(), case, with)
    }

    pub fn commit(&self, index: u8, set: Set, seed: u64) -> Result<Share, TrusteeError> {
        self.as_trustee(index, |responder, case, with| {
            responder.commit(case, with, set, NOW, &mut rng(seed))
        })
    }

    pub fn reveal(&self, index: u8, commitments: &[Share]) -> Result<Share, TrusteeError> {
        self.as_trustee(index, |responder, case, with| {
            responder.reveal(case, with, commitments, NOW)
        })
    }

    pub fn compare(&self, index: u8, blinds: &[Share]) -> Result<Share, TrusteeError> {
        self.as_trustee(index, |responder, case, with| {
            responder.compare(case, with, blinds, NOW, &mut rng(7))
        })
    }

    /// Steps 1 and 2 by all of a set.
    pub fn blinds<const N: usize>(&self, indices: [u8; N]) -> [Share; N] {
        let all = set(indices);
        let commitments = indices.map(|i| self.commit(i, all, i.into()).unwrap());
        indices.map(|i| self.reveal(i, &commitments).unwrap())
    }
}

/// What trustees 1 and 2 and the manager's register say about a packet.
pub fn opened(acme: &TestGroup, sent: &Sent) -> Result<(Opening, Judgement), CombineError> {
    let group = acme.checked();
    let request = sent.opening(&group);
    let shares = [1, 2].map(|i| share(acme, i, sent, &request).unwrap());
    let find = |opened: OpenedBase| acme.find(sent.epoch, opened.search());
    let opened = combine_opening(&group, &request, &shares, &sent.packet(), find)?;
    Ok((opened.evidence, opened.judgement))
}

/// The base that trustees 1 and 2 open.
pub fn opened_base(acme: &TestGroup, sent: &Sent) -> OpenedBase {
    let group = acme.checked();
    let request = sent.opening(&group);
    let shares = [1, 2].map(|i| share(acme, i, sent, &request).unwrap());
    let mut base = None;
    let keep = |opened| {
        base = Some(opened);
        None
    };
    combine_opening(&group, &request, &shares, &sent.packet(), keep).unwrap_err();
    base.unwrap()
}
