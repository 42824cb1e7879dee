//! Vectors of matches: transcripts of either answer, and each part of one damaged.

use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Blind, Blinding, Decryption, Match, Set, Trustee};
use clew_group::xr::Signature;

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, bad_points, bad_proofs, two_rules};
use crate::make::group_signature::quorum::{case, with_sharing};
use crate::make::group_signature::xr_signatures;
use crate::make::groups::xr_group::{XR, trustee};
use crate::make::{flat, hash, rng};

pub fn all() -> Vec<Case> {
    flat([blinds(), answers(), bad_blinds(), bad_shares(), no_answers()])
}

/// T1 and T2 of a signature of `web-1` in epoch 0.
fn points() -> [G1; 2] {
    let bytes = xr_signatures::sign(0, "xr match", b"a message");
    let signature = Signature::from_bytes(&bytes[..288]).unwrap();
    [*signature.t1(), *signature.t2()]
}

fn request_id() -> [u8; 32] {
    hash(b"a request for a match")
}

fn base_of(name: &str) -> G1 {
    XR.base(name, 0)
}

fn set() -> Set {
    Set::of([trustee(1), trustee(3)]).unwrap()
}

/// What is asked, and of whom; T1 and T2.
struct Asked {
    set: Set,
    t: [G1; 2],
    base: G1,
}

fn asked(name: &str) -> Asked {
    Asked { set: set(), t: points(), base: base_of(name) }
}

impl Asked {
    fn question(&self) -> Match<'static> {
        let ([t1, t2], sharing) = (&self.t, &XR.sharing(0).0);
        Match::new(&request_id(), self.set, sharing, [t1, t2], &self.base).unwrap()
    }

    fn case(&self, check: &str, name: &str, expect: &str, comment: &str) -> Case {
        let [t1, t2] = &self.t;
        with_sharing(case(check, name, expect, comment), &XR.sharing(0).0)
            .hex("request", request_id())
            .hex("set", self.set.to_bytes())
            .hex("t1", t1.to_bytes())
            .hex("t2", t2.to_bytes())
            .hex("b", self.base.to_bytes())
    }
}

fn begin(asked: &Match<'_>, i: Trustee) -> (Blind, [u8; 32]) {
    let label = format!("blind of {i}");
    let (blinding, commitment) = asked.begin(i, &mut rng(&label)).unwrap();
    let bytes = Blinding::into_bytes(blinding);
    (Blind::from_bytes(&bytes).unwrap(), commitment.0)
}

/// The transcript: blinds and decryptions.
struct Transcript {
    blinds: Vec<Vec<u8>>,
    decryptions: Vec<Vec<u8>>,
}

fn transcript(asked: &Asked) -> (Transcript, bool) {
    let question = asked.question();
    let blinds: Vec<Blind> = asked.set.iter().map(|i| begin(&question, i).0).collect();
    let product = question.product(&blinds).unwrap();
    let shares = &XR.sharing(0).1;
    let decrypt = |i: Trustee| {
        let share = &shares[usize::from(i.index()) - 1];
        let given = product.part().decrypt(share, &mut rng("match share"));
        given.unwrap()
    };
    let decryptions: Vec<Decryption> = asked.set.iter().map(decrypt).collect();
    let answer = question.judge(&blinds, &decryptions).unwrap();
    let transcript = Transcript {
        blinds: blinds.iter().map(|b| b.to_bytes().to_vec()).collect(),
        decryptions: decryptions.iter().map(|d| d.to_bytes().to_vec()).collect(),
    };
    (transcript, answer)
}

/// The first step, of each of the set.
fn blinds() -> Vec<Case> {
    let asked = asked("web-1");
    let question = asked.question();
    let of = |i: Trustee| {
        let mut rng = rng(&format!("blind of {i}"));
        let [rho, k] = [(); 2].map(|()| Scalar::random(&mut rng).to_bytes());
        let (blind, commitment) = begin(&question, i);
        let comment = format!("What {i} draws, commits to, and shows then.");
        asked
            .case("blind", &format!("blind-{}", i.index()), "valid", &comment)
            .hex("session", question.session())
            .hex("index", [i.index()])
            .hex("rho", rho)
            .hex("k", k)
            .hex("blind", blind.to_bytes())
            .hex("blind-commitment", commitment)
    };
    set().iter().map(of).collect()
}

fn judged(name: &str, expect: &str, comment: &str, asked: &Asked, given: &Transcript) -> Case {
    let case = asked.case("match", &format!("match-{name}"), expect, comment);
    case.each("blind", &given.blinds).each("decryption", &given.decryptions)
}

fn answers() -> Vec<Case> {
    let answer = |name: &str, comment: &str, asked: &Asked| {
        let (transcript, yes) = transcript(asked);
        let answer = if yes { "yes" } else { "no" };
        judged(name, "valid", comment, asked, &transcript).text("answer", answer)
    };
    let all = Asked { set: XR.sharing(0).0.quorum().all(), ..asked("web-1") };
    vec![
        answer("yes", "The machine that made the signature.", &asked("web-1")),
        answer("no", "Another machine.", &asked("web-2")),
        answer("all", "Answered by all three, though two are enough.", &all),
    ]
}

fn bad_blinds() -> Vec<Case> {
    let asked = asked("web-1");
    let good = transcript(&asked).0;
    let with = |name: &str, rule: &str, comment: &str, second: Vec<u8>| {
        let given = Transcript { blinds: vec![good.blinds[0].clone(), second], decryptions: good.decryptions.clone() };
        let case = judged(&format!("blind-{name}"), rule, comment, &asked, &given);
        if rule == "invalid" { case.blames(3) } else { case }
    };
    let second = &good.blinds[1];
    let mut cases = vec![
        with("other-e", "invalid", "E of trustee 3 is another point.", second.doubled(0, 48)),
        with("other-f", "invalid", "F of trustee 3 is another point.", second.doubled(48, 48)),
        with("of-other", "invalid", "The blind of trustee 1 again.", good.blinds[0].clone()),
        with("short", "length", "A byte is missing.", second[..159].to_vec()),
    ];
    for (what, rule, comment, bytes) in bad_proofs(second, 96) {
        cases.push(with(&format!("proof-{what}"), rule, &comment, bytes));
    }
    cases.push(with("two-rules", "scalar", TWO_RULES, two_rules(second, 48, 128)));
    for (point, at) in [("E", 0), ("F", 48)] {
        for (what, rule, comment, bytes) in bad_points(second, point, at..at + 48) {
            cases.push(with(&format!("{}-{what}", point.to_lowercase()), rule, &comment, bytes));
        }
    }
    cases
}

/// The blind of a trustee with a rho and a k of its choice, for T1 and Delta.
pub fn blind_with(session: &[u8; 32], [t1, delta]: [G1; 2], index: u8, rho: &Scalar) -> Vec<u8> {
    let k = Scalar::random(&mut rng("k"));
    let points = [t1, delta, t1.mul(rho), delta.mul(rho), t1.mul(&k), delta.mul(&k)];
    let points = points.map(|point| point.to_bytes());
    let mut domain = [0; 32];
    domain[..12].copy_from_slice(b"clew-blind-1");
    let hashed = [&domain, &session[..], &[index], points.as_flattened()];
    let c = Scalar::from_254_bits(hash(&hashed.concat()));
    let s = k + c * *rho;
    [&points[2][..], &points[3], &c.to_bytes(), &s.to_bytes()].concat()
}

fn bad_shares() -> Vec<Case> {
    let yes = asked("web-1");
    let good = transcript(&yes).0;
    let no = transcript(&asked("web-2")).0;
    let with = |name: &str, rule: &str, comment: &str, decryptions: Vec<Vec<u8>>| {
        let given = Transcript { blinds: good.blinds.clone(), decryptions };
        judged(&format!("share-{name}"), rule, comment, &yes, &given)
    };
    let [first, third] = [&good.decryptions[0], &good.decryptions[1]];
    let mut cases = vec![
        with("other-d", "invalid", "D of trustee 3 is another point.", vec![first.clone(), third.doubled(0, 48)]).blames(3),
        with("swapped", "invalid", "Each in the other's place.", vec![third.clone(), first.clone()]).blames(1),
        with("other-match", "invalid", "Shares of another product.", no.decryptions.clone()).blames(1),
        with("missing", "too-few", "One share for a set of two.", vec![first.clone()]),
    ];
    for (what, rule, comment, bytes) in bad_proofs(third, 48) {
        let case = with(&format!("proof-{what}"), rule, &comment, vec![first.clone(), bytes]);
        cases.push(if rule == "invalid" { case.blames(3) } else { case });
    }
    cases
}

/// Where nobody is to blame, and there is no answer.
fn no_answers() -> Vec<Case> {
    let yes = asked("web-1");
    let good = transcript(&yes).0;
    let (rho, session) = (Scalar::random(&mut rng("rho")), *yes.question().session());
    let points = [yes.t[0], yes.t[1] - yes.base];
    let blind = |index, rho| blind_with(&session, points, index, &rho);
    let cancelling = Transcript { blinds: vec![blind(1, rho), blind(3, -rho)], decryptions: good.decryptions.clone() };
    let same = Asked { base: yes.t[1], ..asked("web-1") };
    let of = |indices: &[u8]| Asked { set: Set::of(indices.iter().map(|i| trustee(*i))).unwrap(), ..asked("web-1") };
    let comment = "Both blinds hold, and E is the identity.";
    vec![
        judged("cancelled", "cancelled", comment, &yes, &cancelling),
        judged("no-answer", "no-answer", "T2 is the base: no blind hides it.", &same, &good),
        judged("set-too-few", "too-few", "A set of one, where two open.", &of(&[1]), &good),
        judged("set-beyond", "index", "Trustee 4 of 3 in the set.", &of(&[1, 4]), &good),
    ]
}
