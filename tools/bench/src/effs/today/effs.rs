//! eFFS of `clew-flow`: its keys, and what is measured of them.

use super::design::{self, Quoted};
use super::{MESSAGES, messages};
use crate::effs::paper::work::{WARM, WARM_SIGNING, warm_for};
use crate::groups::rng;
use crate::measure::Case;
use clew::flow::schemes::instance;
use clew_flow::effs::{POOL_MAX, Parameters, SecretKey, Signer, Verifier};
use clew_simd::Backend;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// By modulus; the second is twice as strong, those of two rows are verified in levels.
const PARAMETERS: [&str; 4] = ["128,1", "256,1", "64,2", "128,2"];
const SIZES: [usize; 2] = [2048, 3072];

/// Nonces are drawn by so many: signatures until some are drawn again.
const DRAWN: usize = 8;

/// A sample is the median of so many parts.
const PARTS: usize = 5;

/// A key.
pub struct Key {
    pub parameters: Parameters,
    pub secret: SecretKey,
    /// What drawing it took.
    pub drawn: Duration,
}

impl Key {
    fn new(name: &str) -> Self {
        let parameters: Parameters = name.parse().expect("there are such");
        let start = Instant::now();
        let secret = SecretKey::generate(parameters, &mut rng(8));
        Self {
            parameters,
            secret,
            drawn: start.elapsed(),
        }
    }
}

/// A key for each set of parameters.
pub fn keys() -> Vec<Key> {
    let names = SIZES.map(|bits| PARAMETERS.map(|k_t| format!("effs-{bits}({k_t})")));
    names
        .into_iter()
        .flatten()
        .map(|name| Key::new(&name))
        .collect()
}

/// A key in the hands of one kernel.
pub struct Engine {
    pub parameters: Parameters,
    pub backend: Backend,
    pub signer: Signer,
    pub verifier: Rc<Verifier>,
    /// What making signer and verifier took.
    pub loaded: [Duration; 2],
}

/// Each key on each backend of this machine, the fastest first.
pub fn engines(keys: &[Key]) -> Vec<Engine> {
    let engine = |backend: Backend, key: &Key| {
        let start = Instant::now();
        let signer = Signer::on(&key.secret, backend, instance);
        let signing = start.elapsed();
        let start = Instant::now();
        let verifier = Rc::new(Verifier::on(key.secret.public(), backend));
        Engine {
            parameters: key.parameters,
            backend,
            signer,
            verifier,
            loaded: [signing, start.elapsed()],
        }
    };
    let all =
        Backend::multipliers().map(|backend| keys.iter().map(move |key| engine(backend, key)));
    all.flatten().collect()
}

/// A message and its signature.
type Signed = (Vec<u8>, Vec<u8>);

impl Engine {
    pub fn bits(&self) -> usize {
        self.parameters.size() as usize
    }

    /// As it stands in the names of rows: the fastest backend has no name.
    pub fn slug(&self) -> String {
        let (k, t) = (self.parameters.k(), self.parameters.t());
        let backend = match self.is_best() {
            true => String::new(),
            false => format!("-{}", self.backend.name()),
        };
        format!("effs-{}-{k}x{t}{backend}", self.bits())
    }

    pub fn title(&self) -> String {
        let name = self.parameters.to_string();
        format!("{} {}", name.replace("effs", "eFFS"), self.backend.name())
    }

    pub fn is_best(&self) -> bool {
        self.backend == Backend::best()
    }

    /// Of a signature and of a public key.
    pub fn bytes(&self) -> [usize; 2] {
        let parameters = &self.parameters;
        [parameters.signature_bytes(), parameters.public_key_bytes()]
    }

    pub fn quoted(&self) -> Quoted {
        design::quoted(&self.slug())
    }

    /// Level 1, and what each other takes when the one below is done.
    pub fn levels(&self) -> Vec<(u8, String)> {
        let first = (1, format!("{}-level-1", self.slug()));
        let others = 2..=self.parameters.t();
        let others = others.map(|level| (level, format!("{}-raise-{level}", self.slug())));
        match self.parameters.t() {
            1 => Vec::new(),
            _ => [first].into_iter().chain(others).collect(),
        }
    }

    pub fn cases(&self) -> Vec<Case<'static>> {
        let mut cases = vec![
            self.signing(),
            self.with_a_pool("online", "signing, nonces drawn before", false),
            self.with_a_pool("prepare", "drawing the nonces of a signature", true),
            self.verifying(),
        ];
        cases.extend(self.levels().into_iter().map(|(level, name)| match level {
            1 => self.beginning(name),
            _ => self.raising(name, level),
        }));
        cases
    }

    /// Nonces are drawn when there are none: an eighth of a drawing comes on each.
    fn signing(&self) -> Case<'static> {
        let (mut signer, messages, mut rng) = (self.signer.clone(), messages(), rng(5));
        let name = format!("{}-sign", self.slug());
        let mut turn = (0..MESSAGES).cycle();
        warm_for(name, "signing, all of it", DRAWN, WARM_SIGNING, move || {
            for _ in 0..DRAWN {
                let message = &messages[turn.next().unwrap_or(0)];
                black_box(signer.sign(message, &mut rng)).expect("this machine computes right");
            }
        })
    }

    /// Drawing as many nonces as are kept, and signing until there are none: the time of either.
    fn with_a_pool(&self, what: &str, about: &'static str, drawing: bool) -> Case<'static> {
        let (mut signer, messages, mut rng) = (self.signer.clone(), messages(), rng(5));
        let signatures = POOL_MAX / usize::from(self.parameters.t());
        let mut round = move || {
            let start = Instant::now();
            signer.prepare(&mut rng);
            let prepared = start.elapsed();
            for message in messages.iter().cycle().take(signatures) {
                black_box(signer.sign(message, &mut rng)).expect("this machine computes right");
            }
            match drawing {
                true => prepared,
                false => start.elapsed() - prepared,
            }
        };
        Case::timed(format!("{}-{what}", self.slug()), about, move || {
            let begin = Instant::now();
            while begin.elapsed() < WARM_SIGNING {
                round();
            }
            (median(&mut round), signatures)
        })
    }

    fn signed(&self) -> Vec<Signed> {
        let (mut signer, mut rng) = (self.signer.clone(), rng(5));
        let sign = |message: Vec<u8>| {
            let signature = signer.sign(&message, &mut rng);
            (message, signature.expect("this machine computes right"))
        };
        messages().into_iter().map(sign).collect()
    }

    fn verifying(&self) -> Case<'static> {
        let (verifier, signed) = (Rc::clone(&self.verifier), self.signed());
        let (level, mut turn) = (self.parameters.t(), (0..MESSAGES).cycle());
        let name = format!("{}-verify", self.slug());
        warm_for(name, "verifying, all rows", 1, WARM, move || {
            let (message, signature) = &signed[turn.next().unwrap_or(0)];
            let verified = verifier.verify(message, signature, level);
            assert!(verified.is_ok(), "it is good");
        })
    }

    fn beginning(&self, name: String) -> Case<'static> {
        let (verifier, signed) = (Rc::clone(&self.verifier), self.signed());
        let mut turn = (0..MESSAGES).cycle();
        warm_for(name, "verifying level 1", 1, WARM, move || {
            let (message, signature) = &signed[turn.next().unwrap_or(0)];
            assert!(verifier.begin(message, signature).is_ok(), "it is good");
        })
    }

    /// From the level below to this one.
    fn raising(&self, name: String, level: u8) -> Case<'static> {
        let (verifier, signed) = (Rc::clone(&self.verifier), self.signed());
        let mut round = move || {
            let begun = signed.iter().map(|(message, signature)| {
                let mut progress = verifier.begin(message, signature).expect("it is good");
                progress.raise(level - 1).expect("it is good");
                progress
            });
            let mut begun: Vec<_> = begun.collect();
            let start = Instant::now();
            for progress in &mut begun {
                progress.raise(level).expect("it is good");
            }
            start.elapsed()
        };
        Case::timed(name, "verifying from the level below", move || {
            let begin = Instant::now();
            while begin.elapsed() < WARM {
                round();
            }
            (median(&mut round), MESSAGES)
        })
    }
}

/// Another process that takes over meets one part, not all.
fn median(round: &mut impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<_> = (0..PARTS).map(|_| round()).collect();
    times.sort();
    times[PARTS / 2]
}
