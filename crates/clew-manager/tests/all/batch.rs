//! Rounds of many joins in one commit, factories, the outbox and the queue of revocations.

use crate::common::*;
use crate::join::Far;
use clew_evidence::GroupLog;
use clew_group::Scheme;
use clew_keys::TextFile;
use clew_keys::join::{ClaimFile, CredentialFile, InvitationFile, OfferFile};
use clew_log::{KeyKind, VerifierKey};
use clew_manager::{EpochStart, JoinAnswer, JoinRound, Store, StoreError};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, TryCryptoRng, TryRng};
use std::convert::Infallible;

const HOUR: u64 = 3_600_000_000_000;

impl TestGroup {
    fn rounds(&mut self, rounds: Vec<JoinRound>, seed: u64) -> Vec<Result<JoinAnswer, StoreError>> {
        let answers = self
            .store
            .answer(&self.issuer, rounds, LATER, &mut rng(seed));
        answers.unwrap()
    }

    fn claim(&mut self, claim: &ClaimFile, now: u64) -> Result<InvitationFile, StoreError> {
        let rounds = vec![JoinRound::Claim(claim.clone())];
        let answers = self
            .store
            .answer(&self.issuer, rounds, now, &mut rng(3))
            .unwrap();
        match answers.into_iter().next().unwrap()? {
            JoinAnswer::Invitation(invitation) => Ok(invitation),
            other => unreachable!("{other:?}"),
        }
    }
}

fn offer(answer: Result<JoinAnswer, StoreError>) -> OfferFile {
    match answer.unwrap() {
        JoinAnswer::Offer(offer) => offer,
        other => unreachable!("{other:?}"),
    }
}

fn credential(answer: Result<JoinAnswer, StoreError>) -> CredentialFile {
    match answer.unwrap() {
        JoinAnswer::Credential(credential) => credential,
        other => unreachable!("{other:?}"),
    }
}

/// A batch with requests, an acceptance, repeats and refused ones: one head, and each its own answer.
#[test]
fn a_refused_round_spoils_no_other() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let mut far: Vec<Far> = (0..6)
        .map(|i| {
            let invitation = acme.invite(&format!("far-{i}"));
            Far::new(&invitation, &group, 10 + i)
        })
        .collect();
    let mut moved = far[1].request();
    moved.device = [1; 32];
    let mut unknown = far[2].request();
    unknown.nonce = [9; 32];
    let asked = |far: &Far| JoinRound::Request(far.request());
    let answers = acme.rounds(
        vec![
            asked(&far[0]),
            JoinRound::Request(moved),
            JoinRound::Request(unknown),
            asked(&far[0]), // twice in one batch
            asked(&far[3]),
        ],
        1,
    );
    let [first, moved, unknown, again, third] = answers.try_into().unwrap();
    let first = offer(first);
    assert_eq!(offer(again).encode(), first.encode());
    assert!(matches!(moved, Err(StoreError::Join(_))), "{moved:?}");
    assert!(matches!(unknown, Err(StoreError::NoInvitation)));
    let third = offer(third);
    let good = far[0].accept(&first, &group).unwrap();
    let other = far[3].accept(&third, &group).unwrap();
    let mut forged = good.clone();
    forged.nonce = other.nonce;
    let answers = acme.rounds(
        vec![
            JoinRound::Acceptance(good.clone()),
            JoinRound::Acceptance(forged),
            JoinRound::Acceptance(good),
            asked(&far[4]),
        ],
        2,
    );
    let [joined, forged, again, asked_too] = answers.try_into().unwrap();
    let joined = credential(joined);
    assert!(matches!(forged, Err(StoreError::Device)), "{forged:?}");
    assert_eq!(credential(again).encode(), joined.encode());
    offer(asked_too);
    assert_eq!(acme.group().register().machines, 1);
    assert_eq!(
        published(&acme.dir).register().machines,
        0,
        "published later"
    );
    acme.store.refresh().unwrap();
    assert_eq!(published(&acme.dir).register(), acme.group().register());
    let fresh = Store::open(&acme.dir).unwrap();
    assert_eq!(fresh.group().register(), acme.group().register());
    assert!(far[0].finish(&joined, &acme.checked()).is_ok());
}

#[test]
fn many_join_in_one_commit_while_another_process_works() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("old");
    let group = acme.checked();
    let mut far: Vec<Far> = (0..40)
        .map(|i| Far::new(&acme.invite(&format!("far-{i}")), &group, 50 + i))
        .collect();
    let asked = far
        .iter()
        .map(|far| JoinRound::Request(far.request()))
        .collect();
    let offers: Vec<_> = acme.rounds(asked, 1).into_iter().map(offer).collect();
    let before = acme.store.outbox(1_000).unwrap().len();
    let mut other = Store::open(&acme.dir).unwrap();
    enrol(&mut other, &acme.issuer, "between");
    let accepted = far
        .iter_mut()
        .zip(&offers)
        .map(|(far, offer)| JoinRound::Acceptance(far.accept(offer, &group).unwrap()));
    let answers = acme.rounds(accepted.collect(), 2);
    acme.store.refresh().unwrap();
    let group = acme.checked();
    for (i, (far, answer)) in far.iter().zip(answers).enumerate() {
        let key = far.finish(&credential(answer), &group).unwrap();
        assert_eq!(key.index as usize, i + 2);
        assert!(acme.row(key.machine.as_str()).is_in_register_of(&group));
    }
    let waiting = acme.store.outbox(1_000).unwrap();
    assert_eq!(waiting.len(), before + 2, "one entry for each commit");
    let last = &waiting.last().unwrap().body;
    assert_eq!(
        (last.len(), &last[..6]),
        (6 + 40 * 32, &[0, 0, 0, 2, 0, 40][..])
    );
    let sent: Vec<(u64, u64)> = (0..)
        .zip(&waiting)
        .map(|(place, e)| (e.seq, place))
        .collect();
    let key = VerifierKey::new("log", KeyKind::Log, acme.issuer.manager.verifying_key()).unwrap();
    assert!(
        !acme.store.set_sent(&key, &sent[..2]).unwrap(),
        "another log"
    );
    let log = GroupLog::new(key.clone()).unwrap();
    let now = EpochStart::now(LATER);
    acme.store.set_log(&acme.issuer, Some(log), now).unwrap();
    assert!(acme.store.set_sent(&key, &sent[..2]).unwrap());
    let mut left = acme.store.outbox(1_000).unwrap();
    let epoch = left.pop().unwrap();
    assert_eq!(acme.store.logged_epochs().unwrap().len(), 0);
    acme.store.set_sent(&key, &[(epoch.seq, 9)]).unwrap();
    assert_eq!(acme.store.logged_epochs().unwrap()[&1], 9);
    assert_eq!(left, waiting[2..]);
    // Another log gets all of it again.
    let other = VerifierKey::new("other", KeyKind::Log, *key.key()).unwrap();
    let log = GroupLog::new(other).unwrap();
    acme.store.set_log(&acme.issuer, Some(log), now).unwrap();
    let again = acme.store.outbox(1_000).unwrap();
    assert_eq!(again[..waiting.len()], waiting);
    assert_eq!(again.len(), waiting.len() + 2);
}

/// Randomness for offers; another process answers one of the invitations when the first is drawn.
struct Raced<F: FnMut()> {
    rng: ChaCha20Rng,
    first: Option<F>,
}

impl<F: FnMut()> TryRng for Raced<F> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.rng.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.rng.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.first.take().into_iter().for_each(|mut first| first());
        self.rng.fill_bytes(out);
        Ok(())
    }
}

impl<F: FnMut()> TryCryptoRng for Raced<F> {}

/// An invitation that another process answers meanwhile is that round's matter alone.
#[test]
fn a_raced_offer_spoils_no_other() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let far: Vec<Far> = (0..2)
        .map(|i| Far::new(&acme.invite(&format!("far-{i}")), &group, 10 + i))
        .collect();
    let asked = |far: &Far| JoinRound::Request(far.request());
    let mut other = Store::open(&acme.dir).unwrap();
    let mut rng = Raced {
        rng: rng(5),
        first: Some(|| {
            let rounds = vec![asked(&far[0])];
            let answers = other.answer(&acme.issuer, rounds, LATER, &mut rng(6));
            offer(answers.unwrap().remove(0));
        }),
    };
    let rounds = far.iter().map(asked).collect();
    let answers = acme.store.answer(&acme.issuer, rounds, LATER, &mut rng);
    let [raced, alone] = answers.unwrap().try_into().unwrap();
    assert!(
        matches!(raced, Err(StoreError::AnsweredMeanwhile)),
        "{raced:?}"
    );
    offer(alone);
    // Asked again, it is the same request.
    offer(acme.rounds(vec![asked(&far[0])], 7).remove(0));
}

#[test]
fn a_factory_invites_what_it_may() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let prefix = || "line-".parse().unwrap();
    let factory = acme.store.add_factory(
        &acme.issuer,
        prefix(),
        2,
        [LATER, LATER + HOUR],
        &mut rng(1),
    );
    let factory = factory.unwrap();
    let name = |name: &str| name.parse().unwrap();
    let one = factory.claim(&name("line-1"));
    let invitation = acme.claim(&one, LATER).unwrap();
    assert!(invitation.check(&acme.group()).is_ok());
    assert_eq!(
        acme.claim(&one, LATER).unwrap(),
        invitation,
        "twice counts once"
    );
    assert_eq!(acme.store.factories().unwrap()[0].used, 1);

    for other in ["line-", "other-1"] {
        let refused = acme.claim(&factory.claim(&name(other)), LATER).unwrap_err();
        assert!(
            matches!(refused, StoreError::FactoryPrefix { .. }),
            "{refused}"
        );
    }
    let mut renamed = one.clone();
    renamed.name = name("line-2");
    let mut guessed = one.clone();
    guessed.nonce[0] ^= 1;
    let mut unknown = one.clone();
    unknown.id[0] ^= 1;
    for forged in [renamed, guessed, unknown] {
        let refused = acme.claim(&forged, LATER).unwrap_err();
        assert!(matches!(refused, StoreError::NoFactory), "{refused}");
    }
    let over = acme
        .claim(&factory.claim(&name("line-2")), LATER + HOUR)
        .unwrap_err();
    assert!(matches!(over, StoreError::FactoryOver), "{over}");
    acme.store.confirm_clock(LATER).unwrap();
    let two = factory.claim(&name("line-2"));
    let second = acme.claim(&two, LATER).unwrap();
    let third = acme
        .claim(&factory.claim(&name("line-3")), LATER)
        .unwrap_err();
    assert!(matches!(third, StoreError::FactoryUsed(2)), "{third}");

    // One joins; then the file is stolen, and withdrawn: what joined stays, the rest is refused.
    let group = acme.checked();
    let mut far = Far::new(&invitation, &group, 7);
    let open = Far::new(&second, &group, 8);
    let offered = offer(
        acme.rounds(vec![JoinRound::Request(far.request())], 1)
            .remove(0),
    );
    let accepted = far.accept(&offered, &group).unwrap();
    let joined = credential(
        acme.rounds(vec![JoinRound::Acceptance(accepted)], 1)
            .remove(0),
    );
    assert!(far.finish(&joined, &acme.checked()).is_ok());
    assert_eq!(
        acme.store
            .remove_factories(&acme.issuer, &prefix())
            .unwrap(),
        1
    );
    let refused = acme
        .rounds(vec![JoinRound::Request(open.request())], 1)
        .remove(0);
    assert!(
        matches!(refused, Err(StoreError::NoInvitation)),
        "{refused:?}"
    );
    let refused = acme.claim(&two, LATER).unwrap_err();
    assert!(matches!(refused, StoreError::NoFactory), "{refused}");
    assert!(acme.store.machine("line-1").unwrap().is_some());
    let none = acme.store.remove_factories(&acme.issuer, &prefix());
    assert!(matches!(none, Err(StoreError::NoFactoryOf(_))));
}

#[test]
fn queued_machines_are_revoked_together() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c"]);
    let names = |names: &[&str]| names.iter().map(|n| n.parse().unwrap()).collect::<Vec<_>>();
    assert_eq!(acme.store.queue(&names(&["a", "b"]), LATER).unwrap(), 2);
    assert_eq!(acme.store.queue(&names(&["b", "c"]), LATER).unwrap(), 1);
    let unknown = acme.store.queue(&names(&["d", "a"]), LATER);
    assert!(matches!(unknown, Err(StoreError::NoSuchMachine(_))));
    assert_eq!(acme.store.queued().unwrap(), [0, 1, 2]);
    assert_eq!(acme.group().newest_epoch(), 0);
    acme.revoke("c"); // at once, and it leaves the queue
    assert_eq!(acme.store.queued().unwrap(), [0, 1]);
    let when = EpochStart::now(acme.next());
    let made = acme
        .store
        .revoke_queued(&acme.issuer, when, &mut |_, _| true);
    assert_eq!(made.unwrap(), [2]);
    let made = acme
        .store
        .revoke_queued(&acme.issuer, when, &mut |_, _| true);
    assert!(made.unwrap().is_empty());
    assert!(acme.store.machine("a").unwrap().unwrap().revoked_in == Some(2));
}

/// The end of a batch is one for names that a thief of its file claimed before, too.
#[test]
fn a_claimed_name_does_not_outlive_its_factory() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let times = [LATER, LATER + HOUR];
    let prefix = "line-".parse().unwrap();
    let factory = acme
        .store
        .add_factory(&acme.issuer, prefix, 2, times, &mut rng(1));
    let factory = factory.unwrap();
    let group = acme.checked();
    let claimed = |acme: &mut TestGroup, name: &str, seed| {
        let claim = factory.claim(&name.parse().unwrap());
        let invitation = acme.claim(&claim, LATER).unwrap();
        Far::new(&invitation, &group, seed)
    };
    let (mut early, late) = (
        claimed(&mut acme, "line-1", 7),
        claimed(&mut acme, "line-2", 8),
    );
    let round = vec![JoinRound::Request(early.request())];
    let offered = offer(acme.rounds(round, 1).remove(0));
    let accepted = early.accept(&offered, &acme.checked()).unwrap();
    for round in [
        JoinRound::Request(late.request()),
        JoinRound::Acceptance(accepted),
    ] {
        let answered = acme
            .store
            .answer(&acme.issuer, vec![round], LATER + HOUR, &mut rng(2));
        let refused = answered.unwrap().remove(0).unwrap_err();
        assert!(matches!(refused, StoreError::FactoryOver), "{refused}");
    }
}
