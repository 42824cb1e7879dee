//! Warrants, a trustee's policy and the group's log: the whole story by commands, and each rule broken
//! once beside it.

use super::logged::{Log, log_key, witness_key};
use super::*;
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::Proof;
use zeroize::Zeroizing;

pub const REQUEST_OF: [&str; 8] = [
    "warrant",
    "request",
    "--group",
    GROUP,
    "signed",
    "--packet",
    "1",
    "--warrant",
];

impl Court {
    /// The court of a group whose packets are signed one by one, with author keys and a policy.
    pub fn with_policy(more: &str) -> Self {
        let court = Self::new("xr");
        for (number, name) in (1..).zip(["court", "police", "trustee", "stranger"]) {
            court.author(number, name);
        }
        court.policy("policy.toml", more);
        court
    }

    fn author(&self, number: u8, name: &str) {
        let key = AuthorKeyFile::new(Zeroizing::new([number; 32]), name.parse().unwrap());
        fs::write(self.path(&format!("{name}.key")), &*key.encode()).unwrap();
        fs::write(self.path(&format!("{name}.pub")), &*key.public().encode()).unwrap();
    }

    pub fn line(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().last().unwrap().to_owned()
    }

    pub fn policy(&self, to: &str, more: &str) {
        let (court, own) = (self.line("court.pub"), self.line("trustee.pub"));
        let keys = format!("author = \"{own}\"\nissuers = [\"{court}\"]\n");
        fs::write(self.path(to), keys + more).unwrap();
    }

    /// A warrant for a packet, signed by somebody.
    pub fn warrant(&self, packet: &str, by: &str, more: &[&str], to: &str) {
        let draft = format!("{to}.draft");
        let create = ["warrant", "create", "--group", GROUP, "--capture", "signed"];
        let rest = ["--packet", packet, "--reference", "1 Js 7/26", "-o", &draft];
        let of = if more.contains(&"--for") {
            &[][..]
        } else {
            &["--for", "police.pub"]
        };
        self.yes(&[&create[..], &rest, of, more].concat());
        let key = format!("{by}.key");
        self.yes(&["warrant", "sign", "--key", &key, &draft, "-o", to]);
    }

    /// The rule by which trustee 1 refuses packet 1.
    pub fn refused(&self, more: &[&str]) -> String {
        let (status, _, error) = self.share(1, "1", more, "refused");
        assert!(status == 2 && !self.path("refused").exists(), "{error}");
        let rule = error.split_once("(rule ").map(|(_, rest)| rest);
        let rule = rule.and_then(|rest| rest.split_once(')'));
        rule.unwrap_or_else(|| unreachable!("{error}")).0.to_owned()
    }

    pub fn write(&self, name: &str, proof: &Proof) {
        fs::write(self.path(name), proof.to_string()).unwrap();
    }

    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

/// The policy's line about the witness.
pub fn witnessed() -> String {
    format!("witnesses = [\"{}\"]\n", witness_key())
}

#[test]
fn a_court_says_what_may_be_opened() {
    let court = Court::with_policy("");
    court.warrant("1", "court", &[], "warrant");
    let (status, said, _) = court.said(&["warrant", "show", "warrant", "--capture", "signed"]);
    assert_eq!(status, 0);
    for part in [
        "1 Js 7/26",
        "asked by   police",
        "issued by  court",
        "  covers     only packet 1 of this capture\n",
        "in force   yes",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let late = ["warrant", "show", "warrant", "--at", "2100-01-01T00:00:00Z"];
    let (status, said, _) = court.said(&late);
    assert!(
        status == 1 && said.contains("rule warrant-expired"),
        "{said}"
    );
    let (status, said, _) = court.said(&["warrant", "show", "warrant.draft"]);
    assert!(status == 1 && said.contains("nobody signed it"), "{said}");
    // Trustees with a policy answer, and the judge knows the file by its hash.
    let given = ["--policy", "policy.toml", "--warrant", "warrant"];
    for trustee in [1, 2] {
        let (status, _, error) = court.share(trustee, "1", &given, &format!("{trustee}.share"));
        assert_eq!(status, 0, "{error}");
    }
    assert_eq!(court.open(&["1.share", "2.share"], "opening").0, 0);
    let judged = court.judged("opening", &["--warrant", "warrant"]);
    assert_eq!(judged["holds"], true);
    court.warrant("1", "court", &[], "other");
    assert_eq!(
        court.judged("opening", &["--warrant", "other"])["rule"],
        "warrant-pin"
    );
}

#[test]
fn a_policy_refuses_by_the_warrants_rules() {
    let court = Court::with_policy("");
    court.warrant("1", "court", &[], "warrant");
    court.warrant("1", "stranger", &[], "forged");
    court.warrant("2", "court", &[], "packet-2");
    court.warrant(
        "1",
        "court",
        &["--match", "web-1", "--register", "acme"],
        "match",
    );
    let refused = |warrant: &str| court.refused(&["--policy", "policy.toml", "--warrant", warrant]);
    assert_eq!(refused("forged"), "warrant-issuer");
    assert_eq!(refused("packet-2"), "warrant-packet");
    assert_eq!(refused("match"), "warrant-question");
    assert_eq!(refused("warrant.draft"), "warrant-text");
    court.altered("warrant", "altered", |payload| {
        *payload.last_mut().unwrap() ^= 1
    });
    assert_eq!(refused("altered"), "warrant-signature");
    // issued and expires stand behind the group id and what is asked.
    court.altered("warrant", "altered", |payload| payload[17..25].fill(0));
    assert_eq!(refused("altered"), "warrant-time");
    // The court sees which machine it is about.
    court.yes(&["group", "register", "acme", "-o", "acme.register"]);
    let show = ["warrant", "show", "match", "--group", GROUP, "--register"];
    let said = court.yes(&[&show[..], &["acme.register"]].concat());
    assert!(
        said.contains("machine    web-1, row 0 of the register"),
        "{said}"
    );
    // A match with the other machine.
    let with = ["--match", "web-2", "--register", "acme", "--with", "1,3"];
    let given = ["--policy", "policy.toml", "--warrant", "match"];
    assert_eq!(
        court.refused(&[&given[..], &with].concat()),
        "warrant-machine"
    );
    let with = ["--match", "web-1", "--register", "acme", "--with", "1,3"];
    let (status, _, error) = court.share(1, "1", &[&given[..], &with].concat(), "1.commit");
    assert_eq!(status, 0, "{error}");
    // Without a policy a group without a log works as ever.
    assert_eq!(
        court.share(1, "1", &["--warrant", "forged"], "1.share").0,
        0
    );
    // A share's place in a log that the group does not have.
    let mut log = Log::new();
    let request = [
        &REQUEST_OF[..],
        &["warrant", "--key", "police.key", "-o", "entry"],
    ]
    .concat();
    court.yes(&request);
    let place = log.add(&court.bytes("entry"));
    court.write("proof", &log.proof(place));
    let given = [
        "--policy",
        "policy.toml",
        "--warrant",
        "warrant",
        "--proof",
        "proof",
    ];
    assert_eq!(court.refused(&given), "log-unexpected");
}

#[test]
fn a_policy_is_read_or_the_key_is_named() {
    let court = Court::with_policy("");
    court.warrant("1", "court", &[], "warrant");
    let own = witness_key().to_string();
    let twice = format!("witnesses = [\"{own}\", \"{own}\"]");
    let log = format!("witnesses = [\"{}\"]", log_key());
    for (more, said) in [
        ("threshold = 1", "threshold"),
        ("max-age = \"25h\"", "max-age"),
        ("max-age = \"0s\"", "max-age"),
        ("requests-per-day = 1001", "requests-per-day"),
        ("matches-per-packet = 4", "matches-per-packet"),
        ("waive = [\"log-missing\"]", "log-missing"),
        ("issuer = []", "issuer"),
        (&twice, "witnesses"),
        (&log, "witnesses"),
    ] {
        court.policy("bad.toml", more);
        let given = ["--policy", "bad.toml", "--warrant", "warrant"];
        let (status, _, error) = court.share(1, "1", &given, "no");
        assert!(status == 2 && error.contains(said), "{more}: {error}");
    }
}
