//! XR in vector lanes beside `blst` alone, in one run: verification from bytes and from points, batches with bad
//! ones, decoding, precursors.

use crate::groups::{EPOCH, PACKET, XrGroup, rng};
use crate::measure::Case;
use crate::options::Options;
use crate::report;
use clew_group::xr::{Form, Item, Signature, SigningKey, VerifyingKey};
use clew_simd::Backend;
use std::io;

const SIZES: [usize; 4] = [4, 16, 64, 256];

/// Of the batches with bad signatures.
const SPOILT: usize = 256;

/// Every so many are bad in the batch with many.
const MANY: usize = 13;

/// Precursors that are made together.
const PRECURSORS: usize = 8;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let fixture = Fixture::new();
    let mut cases = Vec::new();
    for way in &fixture.ways {
        cases.extend(SIZES.into_iter().flat_map(|n| fixture.batches(way, n)));
        cases.extend(fixture.alone(way));
        cases.extend(fixture.spoilt(way));
        cases.push(way.precursors());
    }
    report::run(options, &[], cases)
}

/// A backend with its keys.
struct Way {
    backend: Backend,
    verifier: VerifyingKey,
    signer: SigningKey,
}

struct Fixture {
    ways: Vec<Way>,
    encoded: Vec<Vec<u8>>,
    good: Vec<Signature>,
    forged: Vec<Signature>,
}

impl Way {
    fn new(group: &XrGroup, backend: Backend) -> Self {
        let (key, witness) = (group.member.clone(), &group.witness);
        let signer = SigningKey::with_backend(&group.public, EPOCH, key, witness, backend);
        Self {
            backend,
            verifier: VerifyingKey::with_backend(&group.public, EPOCH, backend),
            signer: signer.expect("the issuer's own key"),
        }
    }

    /// The row's name, and the one of `blst` alone to compare it with.
    fn case<'a, T>(
        &self,
        name: &str,
        about: &'static str,
        work: impl FnMut() -> T + 'a,
    ) -> Case<'a> {
        let case = Case::new(format!("{name}-{}", self.backend.name()), about, work);
        case.against(format!("{name}-{}", Backend::Portable.name()))
    }

    /// How many of a batch are bad.
    fn bad(&self, signatures: &[Signature]) -> usize {
        let items = signatures.iter().map(|signature| Item {
            message: &[PACKET],
            form: Form::Plain(signature),
        });
        let items: Vec<Item<'_>> = items.collect();
        let verdicts = self.verifier.verify_batch(&items, &mut rng(5));
        verdicts.iter().filter(|verdict| verdict.is_err()).count()
    }

    fn decode(&self, encoded: &[Vec<u8>]) -> Vec<Signature> {
        let encoded: Vec<&[u8]> = encoded.iter().map(Vec::as_slice).collect();
        let decoded = Signature::from_bytes_all(self.backend, &encoded);
        decoded.into_iter().flatten().collect()
    }

    fn precursors(&self) -> Case<'_> {
        let mut random = rng(6);
        let work = move || self.signer.precursors(PRECURSORS, &mut random);
        self.case("xr-precursor", "one of eight", work)
            .each_of(PRECURSORS)
    }
}

impl Fixture {
    fn new() -> Self {
        let group = XrGroup::new();
        let most = SIZES.into_iter().max().unwrap_or(1) as u64;
        let encoded = (0..most).map(|seed| group.sign(seed).0.to_bytes().to_vec());
        let encoded: Vec<Vec<u8>> = encoded.collect();
        let forged = (0..most).map(|seed| group.by_stranger(seed).signature().clone());
        let backends = [Backend::best(), Backend::Portable];
        let ways: Vec<Way> = backends.map(|backend| Way::new(&group, backend)).into();
        Self {
            good: ways[1].decode(&encoded),
            forged: forged.collect(),
            encoded,
            ways,
        }
    }

    fn batches<'a>(&'a self, way: &'a Way, n: usize) -> [Case<'a>; 2] {
        let (good, encoded) = (&self.good[..n], &self.encoded[..n]);
        assert_eq!((way.bad(good), way.decode(encoded).len()), (0, n));
        let points = way.case(&format!("xr-batch-{n}"), "of a batch, decoded", move || {
            way.bad(good)
        });
        let bytes = way.case(
            &format!("xr-batch-bytes-{n}"),
            "of a batch, from bytes",
            move || way.bad(&way.decode(encoded)),
        );
        [points.each_of(n), bytes.each_of(n)]
    }

    fn alone<'a>(&'a self, way: &'a Way) -> [Case<'a>; 3] {
        let one = &self.encoded[..1];
        let verify = |signature: &Signature| way.verifier.verify(&[PACKET], signature);
        [
            way.case("xr-decode", "one", move || way.decode(one)),
            way.case("xr-verify", "one, decoded", move || verify(&self.good[0])),
            way.case("xr-verify-bytes", "one, from bytes", move || {
                verify(&way.decode(one)[0])
            }),
        ]
    }

    /// One bad, many, and all of them, which pass the hash and not the pairing; and all bad one by one.
    fn spoilt<'a>(&'a self, way: &'a Way) -> Vec<Case<'a>> {
        let spoilt = |is_bad: &dyn Fn(usize) -> bool| -> Vec<Signature> {
            let of = |i: usize| {
                if is_bad(i) {
                    &self.forged[i]
                } else {
                    &self.good[i]
                }
            };
            (0..SPOILT).map(|i| of(i).clone()).collect()
        };
        let batches = [
            (
                "xr-batch-256-1-bad",
                "of a batch, one forged",
                spoilt(&|i| i == 100),
            ),
            (
                "xr-batch-256-20-bad",
                "of a batch, 20 forged",
                spoilt(&|i| i % MANY == 0),
            ),
            (
                "xr-batch-256-all-bad",
                "of a batch, all forged",
                spoilt(&|_| true),
            ),
        ];
        let batches = batches.into_iter().map(|(name, about, signatures)| {
            way.case(name, about, move || way.bad(&signatures))
                .each_of(SPOILT)
        });
        let mut place = 0;
        let alone = way.case("xr-forged", "one alone", move || {
            place = (place + 1) % SPOILT;
            way.verifier.verify(&[PACKET], &self.forged[place])
        });
        batches.chain([alone]).collect()
    }
}
