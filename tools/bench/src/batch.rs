//! Batches of XR and of XRR: what one signature of a batch costs, by the size of the batch.

use crate::groups::{PACKET, PROTOTYPE, PROTOTYPE_CAVEAT, XrGroup, rng};
use crate::measure::Case;
use crate::options::Options;
use crate::report::{self, Source};
use clew_group::xr::{Form, IncrementalSignature, Item, Signature};
use std::io;

const SIZES: [usize; 6] = [1, 4, 16, 64, 256, 1024];

/// The size of the batch that has a bad signature in it.
const SPOILT: usize = 256;

/// The place of the bad one.
const BAD: usize = 100;

const KLAP20: &str = "KLAP20";

const SOURCES: [Source; 2] = [
    Source {
        name: PROTOTYPE,
        caveat: PROTOTYPE_CAVEAT,
    },
    Source {
        name: KLAP20,
        caveat: "libgroupsig on the prototype's machine, from points; one verdict for the whole \
                 batch, multipliers of 11 bits (ours have 128), batches of 301 at 256, 101 at 64",
    },
];

/// Published figures for one signature of a batch, by its size: XR, XRR, and KLAP20 beside both.
const QUOTED: [(usize, Option<[f64; 2]>, Option<f64>); 4] = [
    (1, Some([670.0, 690.0]), Some(1335.0)),
    (64, Some([95.0, 86.0]), Some(153.0)),
    (256, Some([76.0, 57.0]), Some(142.0)),
    (1024, Some([66.0, 41.0]), None),
];

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let fixture = Fixture::new();
    let mut cases = alone(&fixture);
    for scheme in [Scheme::Xr, Scheme::Xrr] {
        for n in SIZES {
            cases.extend(batches(&fixture, scheme, n));
        }
        cases.extend(spoilt(&fixture, scheme));
    }
    report::run(options, &SOURCES, cases)
}

#[derive(Clone, Copy)]
enum Scheme {
    Xr,
    Xrr,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Xr => "xr",
            Self::Xrr => "xrr",
        }
    }
}

struct Fixture {
    group: XrGroup,
    plain: Vec<Signature>,
    carrying: Vec<IncrementalSignature>,
    by_stranger: IncrementalSignature,
}

impl Fixture {
    fn new() -> Self {
        let group = XrGroup::new();
        let most = SIZES.into_iter().max().unwrap_or(1) as u64;
        let (plain, carrying) = (0..most).map(|seed| group.sign(seed)).unzip();
        Self {
            by_stranger: group.by_stranger(3),
            plain,
            carrying,
            group,
        }
    }

    /// The first `n` signatures as a batch takes them.
    fn forms(&self, scheme: Scheme, n: usize) -> Vec<Form<'_>> {
        match scheme {
            Scheme::Xr => self.plain[..n].iter().map(Form::Plain).collect(),
            Scheme::Xrr => self.carrying[..n].iter().map(Form::Incremental).collect(),
        }
    }

    fn encoded(&self, scheme: Scheme, n: usize) -> Vec<Vec<u8>> {
        let plain = self.plain[..n].iter().map(|s| s.to_bytes().to_vec());
        let carrying = self.carrying[..n].iter().map(|s| s.to_bytes().to_vec());
        match scheme {
            Scheme::Xr => plain.collect(),
            Scheme::Xrr => carrying.collect(),
        }
    }

    /// How many of a batch are bad.
    fn bad(&self, forms: &[Form<'_>], seed: u64) -> usize {
        let message = &[PACKET][..];
        let items = forms.iter().map(|form| Item {
            message,
            form: *form,
        });
        let items: Vec<Item<'_>> = items.collect();
        let verdicts = self.group.verifier.verify_batch(&items, &mut rng(seed));
        verdicts.iter().filter(|verdict| verdict.is_err()).count()
    }

    fn bad_of_bytes(&self, scheme: Scheme, encoded: &[Vec<u8>], seed: u64) -> usize {
        match scheme {
            Scheme::Xr => {
                let read = encoded.iter().map(|b| Signature::from_bytes(b));
                let read: Vec<_> = read.flatten().collect();
                self.bad(&read.iter().map(Form::Plain).collect::<Vec<_>>(), seed)
            }
            Scheme::Xrr => {
                let read = encoded.iter().map(|b| IncrementalSignature::from_bytes(b));
                let read: Vec<_> = read.flatten().collect();
                let forms: Vec<_> = read.iter().map(Form::Incremental).collect();
                self.bad(&forms, seed)
            }
        }
    }
}

/// Verifying one without any batch.
fn alone(f: &Fixture) -> Vec<Case<'_>> {
    let (verifier, message) = (&f.group.verifier, &[PACKET]);
    let (mut order, mut order_of_bytes) = (rng(6), rng(7));
    let bytes = (f.plain[0].to_bytes(), f.carrying[0].to_bytes());
    vec![
        Case::new("xr-verify", "one, decoded", move || {
            verifier.verify(message, &f.plain[0])
        })
        .quote(PROTOTYPE, 670.0)
        .quote(KLAP20, 1335.0),
        Case::new("xr-verify-bytes", "one, from bytes", move || {
            let signature = Signature::from_bytes(&bytes.0);
            signature.map(|signature| verifier.verify(message, &signature))
        }),
        Case::new("xrr-verify", "one, decoded", move || {
            verifier.verify_incremental(message, &f.carrying[0], &mut order)
        })
        .quote(PROTOTYPE, 690.0)
        .quote(KLAP20, 1335.0),
        Case::new("xrr-verify-bytes", "one, from bytes", move || {
            let signature = IncrementalSignature::from_bytes(&bytes.1);
            signature.map(|signature| {
                verifier.verify_incremental(message, &signature, &mut order_of_bytes)
            })
        }),
    ]
}

/// A batch of `n` good ones, from points and from bytes.
fn batches(f: &Fixture, scheme: Scheme, n: usize) -> [Case<'_>; 2] {
    let name = scheme.name();
    let (forms, encoded) = (f.forms(scheme, n), f.encoded(scheme, n));
    assert_eq!(
        (f.bad(&forms, 1), f.bad_of_bytes(scheme, &encoded, 1)),
        (0, 0)
    );
    let points = Case::new(
        format!("{name}-batch-{n}"),
        "of a batch, decoded",
        move || f.bad(&forms, 2),
    );
    let bytes = Case::new(
        format!("{name}-batch-bytes-{n}"),
        "of a batch, from bytes",
        move || f.bad_of_bytes(scheme, &encoded, 3),
    );
    [
        quoted(points, scheme, n)
            .each_of(n)
            .against(format!("{name}-verify")),
        bytes.each_of(n).against(format!("{name}-verify-bytes")),
    ]
}

fn quoted<'a>(mut case: Case<'a>, scheme: Scheme, n: usize) -> Case<'a> {
    for (_, prototype, klap20) in QUOTED.into_iter().filter(|(size, ..)| *size == n) {
        if let Some([xr, xrr]) = prototype {
            let figure = match scheme {
                Scheme::Xr => xr,
                Scheme::Xrr => xrr,
            };
            case = case.quote(PROTOTYPE, figure);
        }
        if let Some(figure) = klap20 {
            case = case.quote(KLAP20, figure);
        }
    }
    case
}

/// A batch with one that passes the hash and not the pairing, which halving it finds.
fn spoilt(f: &Fixture, scheme: Scheme) -> [Case<'_>; 1] {
    let name = scheme.name();
    let mut forms = f.forms(scheme, SPOILT);
    forms[BAD] = match scheme {
        Scheme::Xr => Form::Plain(f.by_stranger.signature()),
        Scheme::Xrr => Form::Incremental(&f.by_stranger),
    };
    assert_eq!(f.bad(&forms, 1), 1);
    let case = Case::new(
        format!("{name}-batch-{SPOILT}-1-bad"),
        "of a batch, decoded, one forged",
        move || f.bad(&forms, 4),
    );
    [case
        .each_of(SPOILT)
        .against(format!("{name}-batch-{SPOILT}"))]
}
