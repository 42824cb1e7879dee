//! Distributed key generation: how an opening key comes to be, and how it is handed on.

use crate::groups::{quorum, rng};
use crate::measure::Case;
use clew_group::curve::G1;
use clew_group::quorum::{
    Broadcast, DealtShare, Founding, Quorum, Resharing, SecretShare, Set, Sharing, Trustee,
};

/// A quorum that made its key together, and is about to hand it on to as many others.
pub struct Fixture {
    quorum: Quorum,
    founding: Founding,
    made: Dealt,
    sharing: Sharing,
    shares: Vec<SecretShare>,
}

/// What all dealers published, and what they gave to the first trustee.
struct Dealt {
    broadcasts: Vec<Broadcast>,
    to_first: Vec<DealtShare>,
}

impl Fixture {
    pub fn new(t: u8, n: u8) -> Self {
        let quorum = quorum(t, n);
        let founding = Founding::new([1; 32], &G1::hash(b"clew-bench", b"u"), quorum);
        let mut rng = rng(1);
        let dealt = quorum.all().iter().map(|i| founding.deal(i, &mut rng));
        let dealt: Result<Vec<_>, _> = dealt.collect();
        let (broadcasts, all): (Vec<_>, Vec<_>) = dealt.expect("trustees").into_iter().unzip();
        let share = |i: Trustee| {
            let received = founding.receive(i, &broadcasts, &to(&all, i));
            received.expect("honest dealers")
        };
        let (sharing, _) = share(first());
        Self {
            shares: quorum.all().iter().map(|i| share(i).1).collect(),
            made: Dealt {
                to_first: to(&all, first()),
                broadcasts,
            },
            sharing,
            founding,
            quorum,
        }
    }

    /// The first t hand the key on.
    fn resharing(&self) -> Resharing<'_> {
        let dealers = Set::of(self.quorum.all().iter().take(self.threshold()));
        let dealers = dealers.expect("each once");
        let resharing = Resharing::new([2; 32], &self.sharing, dealers, self.quorum);
        resharing.expect("t dealers are enough")
    }

    fn threshold(&self) -> usize {
        self.quorum.threshold().into()
    }
}

fn first() -> Trustee {
    Trustee::new(1).expect("an index")
}

/// What was dealt to one trustee.
fn to(all: &[Vec<DealtShare>], trustee: Trustee) -> Vec<DealtShare> {
    let place = usize::from(trustee.index()) - 1;
    all.iter().map(|dealt| dealt[place].clone()).collect()
}

/// The rows of one quorum.
pub fn all<'a>(f: &'a Fixture, prefix: &str) -> Vec<Case<'a>> {
    let resharing = f.resharing();
    let mut rngs = [2, 3].map(rng);
    let mut deal = || {
        let dealers = f.shares.iter().take(f.threshold());
        let dealt = dealers.map(|share| resharing.deal(share, &mut rngs[0]));
        dealt.collect::<Result<Vec<_>, _>>()
    };
    let (broadcasts, all): (Vec<_>, Vec<_>) = deal().expect("old trustees").into_iter().unzip();
    let handed = Dealt {
        to_first: to(&all, first()),
        broadcasts,
    };
    let receive = {
        let resharing = resharing.clone();
        move || resharing.receive(first(), &handed.broadcasts, &handed.to_first)
    };
    assert!(receive().is_ok());
    let [mut old, mut new] = rngs;
    vec![
        Case::new(
            format!("{prefix}-deal"),
            "ceremony: a trustee deals its part",
            move || f.founding.deal(first(), &mut new),
        ),
        Case::new(
            format!("{prefix}-receive"),
            "ceremony: a trustee checks all n dealers",
            || {
                f.founding
                    .receive(first(), &f.made.broadcasts, &f.made.to_first)
            },
        ),
        Case::new(
            format!("{prefix}-reshare-deal"),
            "resharing: an old trustee hands on its share",
            move || resharing.deal(&f.shares[0], &mut old),
        ),
        Case::new(
            format!("{prefix}-reshare-receive"),
            "resharing: a new trustee checks t dealers",
            receive,
        ),
    ]
}
