//! What managers and strangers try, and which rule refuses it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use crate::common::evidence::{device_of, set};
use crate::common::issuer::{device_key, proof_of_y, vouch};
use crate::common::{EPOCH, Fixture, LATE, XR, fixtures, row_of, tree};
use clew_evidence::{
    Asked, EntryKey, Fault, FoundRow, JudgeRule, Match, Opening, Packet, Question, RegisterEntry,
    Request, Row, Step, judge_match, judge_opening,
};
use clew_group::PublicKey;
use clew_group::curve::{G1, Scalar};

fn fault(rule: JudgeRule) -> Result<clew_evidence::Judgement, Fault> {
    Err(rule.into())
}

/// The machine that a manager invents in a copy of its store.
const TWIN: usize = 8;

/// A packet of the twin, opened by honest trustees.
fn opening_of_twin(fixture: &Fixture, body: &[u8], row: Row, x: Option<Scalar>) -> Opening {
    let packet = packet(body);
    let request = Request::new(&fixture.group, Question::Opening, &packet, None).unwrap();
    let shares = fixture.answers(&request, &packet, &[1, 2]);
    let shares = shares.into_iter().map(|share| match share.step {
        Step::Opening(given) => (share.trustee, given),
        _ => panic!("an opening share"),
    });
    Opening {
        request,
        shares: shares.collect(),
        x,
        row,
    }
}

fn packet(body: &[u8]) -> Packet<'_> {
    Packet {
        epoch: EPOCH,
        message: crate::common::MESSAGE,
        body,
        leaf: None,
    }
}

/// A copy of the store enrols the name of an honest machine for a key that the manager has, and has
/// it sign. The packet opens to it, and all but the register fits.
#[test]
fn a_copy_of_the_store_gets_nobody_named() {
    for fixture in fixtures() {
        let id = fixture.group.epoch_id(EPOCH).unwrap();
        let body = crate::common::sign(&fixture.issuer, &fixture.keys[EPOCH as usize], id, TWIN);
        let mut twin = fixture.issuer.entry(TWIN, fixture.group.id());
        (twin.index, twin.name) = (0, fixture.entries[0].name.clone());
        vouch(&mut twin, fixture.group.id(), TWIN);
        let x = fixture.x(0).map(|_| crate::common::issuer::secret_x(TWIN));

        // In place of the honest machine, beside it, or alone.
        let mut instead = fixture.entries.clone();
        instead[0] = twin.clone();
        let mut beside = fixture.entries.clone();
        beside.push(twin.clone());
        let last = beside.len() - 1;
        beside[last].index = last as u32;
        for (entries, at) in [(instead, 0), (beside, last), (vec![twin], 0)] {
            let row = row_of(&entries, &tree(&entries), at, entries.len() as u32);
            let opening = opening_of_twin(fixture, &body, row, x);
            let judged = judge_opening(&fixture.group, &opening, &packet(&body));
            assert_eq!(judged, fault(JudgeRule::Register));
        }
    }
}

/// Without the copy: in the group's own register the twin has a device key of its own.
#[test]
fn the_device_key_tells_two_machines_of_one_name_apart() {
    let mut twin = XR.issuer.entry(TWIN, XR.group.id());
    (twin.index, twin.name) = (0, XR.entries[0].name.clone());
    vouch(&mut twin, XR.group.id(), TWIN);
    let id = XR.group.epoch_id(EPOCH).unwrap();
    let body = crate::common::sign(&XR.issuer, &XR.keys[EPOCH as usize], id, TWIN);
    let (group, row) = XR.with_entry(twin);
    let x = Some(crate::common::issuer::secret_x(TWIN));
    let opening = opening_of_twin(&XR, &body, row, x);
    let judged = judge_opening(&group, &opening, &packet(&body)).unwrap();
    assert_eq!(judged.machine, XR.entries[0].name);
    let known = XR.entries[0].fingerprint().unwrap();
    let pinned = judged.check_device(&known);
    assert_eq!(pinned, Err(JudgeRule::DevicePin.into()));
}

/// A match about a base of the manager's choice, in which the trustees are honest.
fn match_about(base: &G1, x: Scalar, row: Row) -> Match {
    let machine = row.entry.leaf_hash();
    let question = Question::Match { machine };
    let request = Request::new(&XR.group, question, &XR.packet(0), None).unwrap();
    let [_, _, shares] = XR.match_answers(&request, 0, base, &[1, 2]);
    let mut all = shares.into_iter().map(|share| match share.step {
        Step::Match {
            blinds, decryption, ..
        } => (blinds, decryption),
        _ => panic!("a match share"),
    });
    let ((blinds, first), (_, second)) = (all.next().unwrap(), all.next().unwrap());
    Match {
        request,
        set: set(&[1, 2]),
        base: base.to_bytes(),
        x,
        blinds,
        decryptions: vec![first, second],
        row,
    }
}

/// Any x' has a B' that fits the second equation. The match about B' says "it was not this machine",
/// which it was: A under S fixes x.
#[test]
fn a_free_x_makes_no_no() {
    let free = Scalar::from_u128(4711);
    let key = xr_key(EPOCH as usize);
    let c = XR.issuer.commitment(0);
    let certified = XR.issuer.credential_with(0, &free);
    let base = certified + XR.issuer.root(key.v(), &free);
    assert!(key.names(&base, &c, &free), "the second equation holds");
    let staged = match_about(&base, free, XR.row(0));
    let judged = judge_match(&XR.group, &staged, &XR.packet(0));
    assert_eq!(judged, fault(JudgeRule::Credential));
    // With the true x, B' is not the base of the row.
    let staged = match_about(&base, XR.x(0).unwrap(), XR.row(0));
    let judged = judge_match(&XR.group, &staged, &XR.packet(0));
    assert_eq!(judged, fault(JudgeRule::Signer));
    // With another A in the register, both equations hold, but the device signed another A.
    assert!(key.certifies(&certified, &c, &free));
    let mut entry = XR.entries[0].clone();
    entry.credential = certified.to_bytes();
    let (group, row) = XR.with_entry(entry);
    let staged = match_about(&base, free, row);
    let judged = judge_match(&group, &staged, &XR.packet(0));
    assert_eq!(judged, fault(JudgeRule::Device));
    // The honest match says yes.
    assert!(XR.matched(0, 0, &[1, 2]).judgement.signed);
}

/// The same for an opening: a base that is not of the row names nobody, whatever x is given.
#[test]
fn no_x_makes_another_machine_of_an_opening() {
    for x in [0, 1, 2].map(|machine| XR.x(machine)) {
        let mut opening = XR.opening(0);
        (opening.row, opening.x) = (XR.row(1), x);
        let judged = judge_opening(&XR.group, &opening, &XR.packet(0)).unwrap_err();
        let expected = match x == XR.x(1) {
            true => JudgeRule::Signer,
            false => JudgeRule::Credential,
        };
        assert_eq!(judged.rule, expected);
    }
}

/// An entry of one scheme is none of the other.
#[test]
fn entries_of_the_other_scheme() {
    let mut opening = XR.opening(0);
    opening.row.entry.key = EntryKey::Bbs04(Box::new([0; 96]));
    let judged = judge_opening(&XR.group, &opening, &XR.packet(0));
    assert_eq!(judged, fault(JudgeRule::Layout));
}

/// A row that a dishonest issuer makes of a base that it knows, for an accomplice's device key:
/// C := B^(gamma+x) / (g1 V), A := (g1 C)^(1/(gamma+x)). Nobody knows y for it.
fn accomplice(base: &G1, x: &Scalar) -> RegisterEntry {
    let key = xr_key(EPOCH as usize);
    let g1 = clew_group::xr::Generators::of(&crate::common::NONCE).g1;
    let c = base.mul(&(XR.issuer.gamma + *x)) - g1 - *key.v();
    let a = XR.issuer.root(&(g1 + c), x);
    in_row_of_the_accomplice(&a, &c)
}

/// The accomplice's entry with another credential: it vouches for that as well as it can.
fn in_row_of_the_accomplice(a: &G1, c: &G1) -> RegisterEntry {
    let mut entry = XR.issuer.entry(LATE, XR.group.id());
    entry.credential = a.to_bytes();
    device_of(&mut entry).commitment = c.to_bytes();
    vouch(&mut entry, XR.group.id(), LATE);
    entry
}

fn xr_key(epoch: usize) -> &'static clew_group::xr::PublicKey {
    match &XR.keys[epoch] {
        PublicKey::Xr(key) => key,
        PublicKey::Bbs04(_) => panic!("a key of xr"),
    }
}

/// What the judge says of the packets of two machines, if this entry is named.
fn named(entry: &RegisterEntry, x: Scalar) -> [Result<clew_evidence::Judgement, Fault>; 2] {
    let (group, row) = XR.with_entry(entry.clone());
    [0, 1].map(|machine| {
        let opening = Opening {
            row: row.clone(),
            x: Some(x),
            ..XR.opening(machine)
        };
        judge_opening(&group, &opening, &XR.packet(machine))
    })
}

/// Whether all but the proof of y holds for machine 0's packet: both equations, and S.
fn fits_but_for_the_proof(entry: &RegisterEntry, x: &Scalar) -> bool {
    let (device, key) = (entry.device().unwrap(), xr_key(EPOCH as usize));
    let [a, c] = [&entry.credential, &device.commitment].map(|p| G1::from_bytes(p).unwrap());
    let statement = entry.statement(XR.group.id());
    let signature = ed25519_dalek::Signature::from_bytes(&device.signature);
    let signed = device_key(LATE)
        .verifying_key()
        .verify_strict(&statement, &signature);
    key.certifies(&a, &c, x) && key.names(&XR.bases[0], &c, x) && signed.is_ok()
}

/// Issuer and trustees together make a row that fits an honest machine's packet, for an accomplice's
/// device key (`spec/security.md` 5.4). Only a proof of y is missing, which nobody can make.
#[test]
fn an_accomplice_fits_no_packet() {
    let x = Scalar::from_u128(4711);
    let mut entry = accomplice(&XR.bases[0], &x);
    assert!(fits_but_for_the_proof(&entry, &x), "the attack works");
    let honest = XR.entries[0].device().unwrap().proof;
    let statement = entry.statement(XR.group.id());
    for proof in [
        proof_of_y(LATE, &statement),
        proof_of_y(0, &statement),
        honest,
    ] {
        device_of(&mut entry).proof = proof;
        assert_eq!(named(&entry, x), [0, 1].map(|_| fault(JudgeRule::Device)));
    }
}

/// The same with the honest machine's own A and C, which the equations cannot tell apart. Whoever has
/// its y, as a machine that shares its key, makes the row hold.
#[test]
fn a_copied_credential_fits_no_packet() {
    let (x, [a, c]) = (
        XR.x(0).unwrap(),
        [XR.issuer.credential(0), XR.issuer.commitment(0)],
    );
    let mut entry = in_row_of_the_accomplice(&a, &c);
    assert!(fits_but_for_the_proof(&entry, &x), "the attack works");
    let statement = entry.statement(XR.group.id());
    let honest = XR.entries[0].device().unwrap().proof;
    for proof in [proof_of_y(LATE, &statement), honest] {
        device_of(&mut entry).proof = proof;
        assert_eq!(named(&entry, x), [0, 1].map(|_| fault(JudgeRule::Device)));
    }
    device_of(&mut entry).proof = proof_of_y(0, &statement);
    let [judged, of_another] = named(&entry, x);
    assert_eq!(judged.unwrap().machine, entry.name);
    assert_eq!(of_another, fault(JudgeRule::Signer));
}

/// A trustee of a match answers for no such row, and a judge takes no match about it.
#[test]
fn no_match_is_about_an_accomplice() {
    let x = Scalar::from_u128(4711);
    let (group, row) = XR.with_entry(accomplice(&XR.bases[0], &x));
    let machine = row.entry.leaf_hash();
    let request = Request::new(&group, Question::Match { machine }, &XR.packet(0), None).unwrap();
    let asked = Asked::new(&group, &request, &XR.packet(0)).unwrap();
    let found = FoundRow { row, x: Some(x) };
    let candidate = asked.check_candidate(&group, &request, &found, &XR.bases[0]);
    assert_eq!(candidate, Err(JudgeRule::Device.into()));
    let staged = match_about(&XR.bases[0], x, found.row);
    let judged = judge_match(&group, &staged, &XR.packet(0));
    assert_eq!(judged, fault(JudgeRule::Device));
}

/// The same with the row of an honest device, which is innocent: C is under S, and the row that would
/// fit has another.
#[test]
fn manager_and_trustees_frame_nobody() {
    let x = Scalar::from_u128(4711);
    let honest = &XR.entries[1];
    // The packet is machine 0's; machine 1 is to be named.
    let framing = accomplice(&XR.bases[0], &x);
    let fitting = RegisterEntry {
        credential: framing.credential,
        ..honest.clone()
    };
    let mut replaced = fitting.clone();
    device_of(&mut replaced).commitment = device_of(&mut framing.clone()).commitment;
    for (entry, x, rule) in [
        (replaced, x, JudgeRule::Device),
        (fitting, x, JudgeRule::Device),
        (honest.clone(), x, JudgeRule::Credential),
        (honest.clone(), XR.x(1).unwrap(), JudgeRule::Signer),
    ] {
        let (group, row) = XR.with_entry(entry);
        let opening = Opening {
            row,
            x: Some(x),
            ..XR.opening(0)
        };
        let judged = judge_opening(&group, &opening, &XR.packet(0));
        assert_eq!(judged, fault(rule));
    }
}
