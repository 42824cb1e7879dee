//! Vectors of the files of a join: `web-6` joins the group of xr from its own host.

use clew_evidence::{DeviceEntry, EntryKey, KeyOrigin, RegisterEntry, armor, join_session};
use clew_group::curve::Scalar;
use clew_group::xr::{IssuerKey, JoinRequest, Offer};
use clew_keys::TextFile;
use clew_keys::join::{AcceptanceFile, CredentialFile, InvitationFile, Joining, OfferFile, RequestFile};
use ed25519_dalek::SigningKey;

use crate::case::Case;
use crate::make::damage::{Damage, bad_proofs, identity};
use crate::make::groups::bbs04_group;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::Records;
use crate::make::groups::xr_group;
use crate::make::groups::xr_group::{NEWEST, XR, join_nonce, row_rng, s, x};
use crate::make::key_file::keys::{armored, case};
use crate::make::opening::good::checked;
use crate::make::{flat, hash, rng};

const NAME: &str = "web-6";
const INVITATION: &str = InvitationFile::LABEL;
const REQUEST: &str = RequestFile::LABEL;
const OFFER: &str = OfferFile::LABEL;
const ACCEPTANCE: &str = AcceptanceFile::LABEL;
const CREDENTIAL: &str = CredentialFile::LABEL;
const JOINING: &str = "clew-joining-1";

pub fn all() -> Vec<Case> {
    flat([invitations(), requests(), offers(), bad_offers(), acceptances(), credentials(), bad_credentials()])
}

fn of_file(case: Case) -> Case {
    case.text("group-file", xr_group::FILE)
}

fn invitation_of(records: &Records) -> InvitationFile {
    let name = NAME.parse().unwrap();
    InvitationFile::new(records.id(), join_nonce(NAME), name, &records.manager)
}

/// The join after the device made its request.
fn begun() -> Joining {
    let group = checked(&XR.records);
    let rng = &mut rng("joining of web-6");
    Joining::begin(invitation_of(&XR.records), &group, rng).unwrap()
}

/// The join after the device accepted the good offer.
fn accepted() -> Joining {
    let mut joining = begun();
    accept(&mut joining);
    joining
}

fn accept(joining: &mut Joining) -> AcceptanceFile {
    let group = checked(&XR.records);
    let accepted = joining.accept(&offer(), &group, &mut row_rng(&statement()));
    accepted.unwrap()
}

/// What the device vouches for.
fn statement() -> Vec<u8> {
    entry(None).statement(XR.records.id())
}

fn session(joining: &Joining) -> [u8; 32] {
    let (invitation, request) = (joining.invitation(), joining.request());
    join_session(invitation.group, &invitation.nonce, &request.device, &invitation.name)
}

fn offer_by(issuer: &IssuerKey, label: &str) -> OfferFile {
    let joining = begun();
    let (genesis, session) = (&XR.public[0], session(&joining));
    let request = &joining.request().request;
    let offer = issuer.offer(genesis, &session, request, &x(label), &s(label));
    OfferFile {
        nonce: join_nonce(NAME),
        joined: NEWEST as u32,
        id: XR.records.epoch_id(NEWEST),
        how: KeyOrigin::OwnHost,
        replaces: None,
        offer: offer.unwrap(),
    }
}

fn offer() -> OfferFile {
    offer_by(&XR.issuer, NAME)
}

fn invitations() -> Vec<Case> {
    let file = invitation_of(&XR.records);
    let good = file.payload();
    let bad = |name: &str, rule: &str, comment: &str, payload: &[u8]| {
        let text = armored(INVITATION, payload);
        let name = format!("invitation-{name}");
        of_file(case(&name, rule, comment, INVITATION, &text))
    };
    let other = invitation_of(&BBS04.records);
    let stranger = SigningKey::from_bytes(&hash(b"stranger"));
    let stranger = InvitationFile::new(file.group, file.nonce, file.name.clone(), &stranger);
    let comment = "The issuer invites web-6.";
    let of_bbs04 = "A group of bbs04, whose machines do not join.";
    vec![
        of_file(case("invitation", "valid", comment, INVITATION, &file.encode()))
            .hex("group", file.group.0)
            .hex("nonce", file.nonce)
            .text("machine", NAME)
            .hex("signature", file.signature),
        bad("other-group", "other-group", "To another group than that of the file.", &other.payload()),
        bad("stranger", "not-the-managers", "Another key signed.", &stranger.payload()),
        bad("signature", "not-the-managers", "The signature is one bit off.", &good.flip(good.len() - 40 - 1)),
        bad("nonce", "not-the-managers", "The nonce is one bit off.", &good.flip(47)),
        bad("name", "damaged", "The name is empty.", &good.replace(48..54, [0])),
        bad("long", "damaged", "A byte too many.", &good.plus([0])),
        bad("short", "damaged", "A byte is missing.", &good.cut(1)),
        case("invitation-bbs04", "no-join", of_bbs04, INVITATION, &other.encode()).text("group-file", bbs04_group::FILE),
        case("invitation-label", "label", "A request where an invitation is wanted.", INVITATION, &begun().request().encode()),
    ]
}

fn requests() -> Vec<Case> {
    let joining = begun();
    let file = joining.request();
    let good = file.payload();
    let request = |name: &str, expect: &str, comment: &str, text: &str| {
        let name = format!("join-request{name}");
        of_file(case(&name, expect, comment, REQUEST, text)).text("machine", NAME)
    };
    let bad = |name: &str, rule: &str, comment: &str, payload: &[u8]| request(name, rule, comment, &armored(REQUEST, payload));
    let other_key = good.set(32, hash(b"another device key"));
    let comment = "The device asks.";
    vec![
        request("", "valid", comment, &file.encode())
            .hex("nonce", file.nonce)
            .hex("device-key", file.device)
            .hex("request", file.request.to_bytes())
            .hex("session", session(&joining)),
        bad("-device-key", "join", "Another device key: another session.", &other_key),
        bad("-proof", "join", "s of the proof is one bit off.", &good.flip(-1)),
        bad("-c", "join", "C' is another point.", &good.doubled(64, 48)),
        bad("-identity", "damaged", "C' is the identity.", &good.set(64, identity(48))),
        bad("-long", "damaged", "A byte too many.", &good.plus([0])),
        bad("-short", "damaged", "A byte is missing.", &good.cut(1)),
    ]
}

fn read_by(case: Case, joining: &Joining) -> Case {
    of_file(case).lines("joining-line", &joining.encode())
}

fn offers() -> Vec<Case> {
    let file = offer();
    let good = |name: &str, comment: &str, mut joining: Joining| {
        let case = case(name, "valid", comment, OFFER, &file.encode());
        let case = read_by(case, &joining);
        let accepted = accept(&mut joining);
        case.hex("nonce", file.nonce)
            .hex("joined", file.joined.to_be_bytes())
            .hex("epoch-id", file.id)
            .hex("how", [file.how.code()])
            .hex("replaces", [0xff; 4])
            .hex("offer", file.offer.to_bytes())
            .lines("acceptance-line", &accepted.encode())
    };
    let k = Scalar::random(&mut row_rng(&statement()));
    vec![
        good("offer", "The issuer offers.", begun()).hex("k", k.to_bytes()),
        good("offer-again", "The same offer again.", accepted()),
    ]
}

/// Where the fields of an offer are: nonce, joined, epoch id, how, replaces, A, x, s.
const HOW: usize = 32 + 4 + 32;
const A: usize = HOW + 1 + 4;

fn bad_offers() -> Vec<Case> {
    let good = offer().payload();
    let bad_of = |joining: &Joining, name: &str, rule: &str, comment: &str, payload: &[u8]| {
        let text = armored(OFFER, payload);
        let case = case(&format!("offer-{name}"), rule, comment, OFFER, &text);
        read_by(case, joining)
    };
    let bad = |name: &str, rule: &str, comment: &str, payload: &[u8]| bad_of(&begun(), name, rule, comment, payload);
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let second = offer_by(&XR.issuer, "web-6 again");
    let other_issuer = IssuerKey::generate(&mut rng("another issuer"));
    let of_another = offer_by(&other_issuer, NAME);
    vec![
        bad("other-join", "other-join", "The nonce of another invitation.", &set(0, &join_nonce("web-5"))),
        bad("how", "how", "It says that the machine joins on the issuer's host.", &set(HOW, &[1])),
        bad("how-attested", "how", "It says that the device key is attested.", &set(HOW, &[3])),
        bad_of(&accepted(), "second", "other-offer", "Another offer after one was accepted.", &second.payload()),
        bad("epoch", "no-such-epoch", "It names epoch 5.", &set(32, &5u32.to_be_bytes())),
        bad("epoch-id", "other-history", "It has another id of that epoch.", &set(36, &XR.records.epoch_id(3).0)),
        bad("a", "join", "A is another point.", &good.doubled(A, 48)),
        bad("x", "join", "x is one bit off.", &good.flip(A + 79)),
        bad("s", "join", "s is one bit off.", &good.flip(A + 111)),
        bad("issuer", "join", "Another issuer made it.", &of_another.payload()),
        bad("how-4", "damaged", "How is 4.", &set(HOW, &[4])),
        bad("x-zero", "damaged", "x is zero.", &set(A + 48, &[0; 32])),
        bad("x-high", "damaged", "x is not reduced.", &good.unreduced(A + 48)),
        bad("identity", "damaged", "A is the identity.", &set(A, &identity(48))),
        bad("long", "damaged", "A byte too many.", &good.plus([0])),
        bad("short", "damaged", "A byte is missing.", &good.cut(1)),
    ]
}

/// Where the proof of an acceptance is: behind nonce and S.
const PROOF: usize = 32 + 64;

/// The entry that the issuer makes, of an acceptance too.
fn entry(acceptance: Option<&AcceptanceFile>) -> RegisterEntry {
    let (joining, file) = (begun(), offer());
    let request: &JoinRequest = &joining.request().request;
    let offered: &Offer = &file.offer;
    RegisterEntry {
        index: 5,
        joined: file.joined,
        how: file.how,
        replaces: file.replaces,
        credential: offered.a().to_bytes(),
        name: NAME.parse().unwrap(),
        key: EntryKey::Xr(DeviceEntry {
            commitment: offered.commitment(&XR.public[0], request).to_bytes(),
            key: joining.request().device,
            signature: acceptance.map_or([0; 64], |file| file.signature),
            proof: acceptance.map_or([0; 64], |file| file.proof.to_bytes()),
        }),
    }
}

fn acceptances() -> Vec<Case> {
    let file = accept(&mut begun());
    let good = file.payload();
    let entry = entry(Some(&file)).encode();
    let other = XR.records.entries[0].device().unwrap().proof;
    let acceptance = |name: &str, expect: &str, comment: &str, text: &str| {
        let name = format!("acceptance{name}");
        of_file(case(&name, expect, comment, ACCEPTANCE, text)).hex("entry", &entry)
    };
    let bad =
        |name: &str, rule: &str, comment: &str, payload: &[u8]| acceptance(name, rule, comment, &armored(ACCEPTANCE, payload));
    let comment = "The device accepts: S and the proof of y are in its entry.";
    let mut cases = vec![
        acceptance("", "valid", comment, &file.encode())
            .hex("nonce", file.nonce)
            .hex("signature", file.signature)
            .hex("proof", file.proof.to_bytes()),
        bad("-signature", "device", "S is one bit off.", &good.flip(40)),
        bad("-proof-of-another", "device", "The proof of another machine's y, for its row.", &good.set(PROOF, other)),
        bad("-no-proof", "damaged", "It ends with S.", &good[..PROOF]),
        bad("-long", "damaged", "A byte too many.", &good.plus([0])),
        bad("-short", "damaged", "A byte is missing.", &good.cut(1)),
    ];
    for (what, rule, comment, bytes) in bad_proofs(&good, PROOF) {
        let rule = if rule == "invalid" { "device" } else { "damaged" };
        cases.push(bad(&format!("-proof-{what}"), rule, &comment, &bytes));
    }
    cases
}

/// The state after an offer of another epoch, or of another history.
fn accepted_with(at: usize, value: &[u8]) -> Joining {
    let mut joining = begun();
    let acceptance = accept(&mut joining);
    let payload = armor::decode(&joining.encode(), JOINING).unwrap();
    let offer = payload.len() - acceptance.payload().len() - offer().payload().len();
    let changed = payload.set(offer + at, value);
    Joining::decode(&armored(JOINING, &changed)).unwrap()
}

fn credential_of(epochs: &[usize]) -> CredentialFile {
    let witness = |epoch: &usize| {
        let issuer = XR.issuer.in_epoch(&XR.public[*epoch], []);
        (*epoch as u32, issuer.witness(&x(NAME)).unwrap())
    };
    CredentialFile { nonce: join_nonce(NAME), index: 5, witnesses: epochs.iter().map(witness).collect() }
}

fn credentials() -> Vec<Case> {
    let good = |name: &str, comment: &str, epochs: &[usize]| {
        let (file, joining) = (credential_of(epochs), accepted());
        let key = joining.finish(&file, &checked(&XR.records)).unwrap();
        let case = case(name, "valid", comment, CREDENTIAL, &file.encode());
        let case = read_by(case, &joining).hex("nonce", file.nonce).hex("index", file.index.to_be_bytes());
        let epochs = file.witnesses.iter().map(|(epoch, _)| epoch.to_be_bytes());
        let case = case.each("epoch", epochs);
        let witnesses = file.witnesses.iter().map(|(_, w)| w.to_bytes().to_vec());
        case.each("witness", witnesses).lines("key-line", &key.encode())
    };
    let announced = "With the witnesses of the epoch in force and of the one announced.";
    vec![good("credential", "The last word of the issuer.", &[NEWEST]), good("credential-announced", announced, &[3, 4])]
}

fn bad_credentials() -> Vec<Case> {
    let good = credential_of(&[3, 4]).payload();
    let bad_of = |joining: &Joining, name: &str, rule: &str, comment: &str, payload: &[u8]| {
        let text = armored(CREDENTIAL, payload);
        let name = format!("credential-{name}");
        read_by(case(&name, rule, comment, CREDENTIAL, &text), joining)
    };
    let bad = |name: &str, rule: &str, comment: &str, payload: &[u8]| bad_of(&accepted(), name, rule, comment, payload);
    // nonce, index, count; then an epoch and its witness.
    let (count, first) = (36, 37);
    let second = first + 52;
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let swapped = [&good[..first], &good[second..], &good[first..second]].concat();
    let twice = [&good[..second], &good[first..second]].concat();
    let many = [&good[..first], &good[first..second].repeat(17)].concat();
    let other = XR.witness("web-1", 4).to_bytes();
    vec![
        bad("other-join", "other-join", "The nonce of another invitation.", &set(0, &join_nonce("web-5"))),
        bad_of(&begun(), "no-offer", "no-offer", "No offer was accepted.", &good),
        bad_of(&accepted_with(32, &5u32.to_be_bytes()), "joined", "no-such-epoch", "The accepted offer names epoch 5.", &good),
        bad_of(
            &accepted_with(36, &XR.records.epoch_id(3).0),
            "epoch-id",
            "other-history",
            "The accepted offer has another id of its epoch.",
            &good,
        ),
        bad("epoch", "no-such-epoch", "It has a witness of epoch 5.", &set(second, &5u32.to_be_bytes())),
        bad("witness", "witness", "The witness of epoch 4 is that of another machine.", &set(second + 4, other.as_slice())),
        bad("witness-epoch", "witness", "The witness of epoch 3 is that of epoch 4.", &set(first + 4, &good[second + 4..])),
        bad("none", "damaged", "No witness.", &[&good[..count], &[0]].concat()),
        bad("many", "damaged", "17 witnesses.", &many.set(count, [17])),
        bad("swapped", "damaged", "The epochs in the other order.", &swapped),
        bad("equal", "damaged", "An epoch twice.", &twice),
        bad("identity", "damaged", "A witness is the identity.", &set(first + 4, &identity(48))),
        bad("long", "damaged", "A byte too many.", &good.plus([0])),
        bad("short", "damaged", "A byte is missing.", &good.cut(1)),
    ]
}
