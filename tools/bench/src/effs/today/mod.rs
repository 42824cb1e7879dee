//! eFFS as `clew-flow` has it beside what else signs: signatures of a block's message, and whole flows.

mod design;
mod effs;
mod flows;
mod others;
mod plots;
mod tables;

use crate::flow::payloads;
use crate::options::Options;
use crate::report;
use effs::{Engine, Key};
use others::Other;
use std::io;

/// What a block's signature covers, and how many in turn.
const MESSAGE_BYTES: usize = 148;
const MESSAGES: usize = 32;

fn messages() -> Vec<Vec<u8>> {
    payloads(MESSAGES, MESSAGE_BYTES)
}

/// What is compared.
struct Fixture {
    keys: Vec<Key>,
    engines: Vec<Engine>,
    others: Vec<Other>,
}

impl Fixture {
    fn new() -> Self {
        let keys = effs::keys();
        Self {
            engines: effs::engines(&keys),
            others: others::all(),
            keys,
        }
    }

    /// The engine of that name.
    fn engine(&self, slug: &str) -> Option<&Engine> {
        self.engines.iter().find(|engine| engine.slug() == slug)
    }
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let fixture = Fixture::new();
    let mut cases: Vec<_> = fixture.engines.iter().flat_map(Engine::cases).collect();
    cases.extend(fixture.others.iter().flat_map(Other::cases));
    cases.extend(flows::cases(&fixture));
    let (mut record, measured) = report::measure(options, &[], cases)?;
    plots::save(&fixture, &measured, options)?;
    record.notes = vec![
        format!(
            "One core, a message of {MESSAGE_BYTES} bytes, from bytes to bytes. design: its prototype's on one core of a Zen 5 \
             machine (portable: its estimate; where it has a range, the middle)."
        ),
        "/ RSA: to that of the same modulus and e = 65537. sign: nonces drawn on demand; online: drawn before, which takes what \
         prepare says."
            .into(),
        "computed: the time of a packet without a signature, and the m-th part of the measured signature.".into(),
    ];
    record.notes.extend(tables::judge(&measured));
    record.notes.extend(flows::judge(&measured));
    record.tables = vec![
        tables::keys(&fixture),
        tables::schemes(&fixture, &measured, "sign"),
        tables::schemes(&fixture, &measured, "verify"),
        tables::levels(&fixture, &measured),
        flows::table(&measured, "sign", "signing"),
        flows::table(&measured, "verify", "verifying"),
    ];
    record.print(options.json)
}
