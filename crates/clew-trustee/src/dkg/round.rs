//! A key generation on a board: what all participants of a proposal posted, and where it stands.
//!
//! Everything here follows from the set of posts, whatever their order and however often they are
//! there: all who see the same posts name the same participants.

use super::hello::Role;
use super::{Deal, Dealing, DkgError, Hello, Participants, Proposal, Seat};
use clew_group::EpochId;
use clew_group::quorum::Trustee;
use clew_keys::post::Post;
use clew_keys::{TextFile, is_contributory};

/// Kind of the post with a [`Hello`].
pub const POST_HELLO: u8 = 2;
/// Kind of the post with a [`Deal`].
pub const POST_DEAL: u8 = 3;
/// Kind of the post by which a trustee says that all deals to it are good: the context.
pub const POST_CHECKED: u8 = 4;
/// Kind of the post by which a trustee accuses a dealer: the dealer's index, the rule.
pub const POST_COMPLAINT: u8 = 5;
/// Kind of the post by which a trustee says that it has its key: the epoch, the epoch's id.
pub const POST_FINISHED: u8 = 6;

/// Rules that only the trustee sees broken to whom a share was dealt.
const PRIVATE: [&str; 2] = ["sealed-share", "dealt-share"];

/// Why a key generation stops. The others begin again with another plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stop {
    /// The participant's index as a trustee of the new key, or else as a dealer.
    pub who: u8,
    /// Its name for people.
    pub name: String,
    /// The rule that it broke (`spec/opening-key.md` sections 6 and 9).
    pub rule: &'static str,
    /// Who says so, if the posts alone do not show it: one of the two lies.
    pub accuser: Option<String>,
}

/// Where a key generation stands.
#[derive(Clone, Debug)]
pub enum Standing {
    /// These have not said hello yet.
    Hellos(Vec<String>),
    /// All said hello. These have not dealt yet.
    Deals(Vec<String>),
    /// All dealt. These trustees have not checked the deals to them yet.
    Checks(Vec<String>),
    /// All trustees found their deals good: the manager may make the epoch. These have not got their key
    /// yet; nobody, once all have.
    Ready(Vec<String>),
    /// Somebody broke a rule.
    Stopped(Vec<Stop>),
}

/// What one participant posted.
#[derive(Clone, Debug, Default)]
struct Said {
    hello: Option<Hello>,
    deal: Option<Deal>,
    checked: Option<[u8; 32]>,
    finished: Option<(u32, EpochId)>,
    complaints: Vec<(u8, &'static str)>,
    fault: Option<&'static str>,
}

/// All that was posted about a proposal.
#[derive(Clone, Debug)]
pub struct Round<'p> {
    proposal: &'p Proposal,
    said: Vec<Said>,
}

impl<'p> Round<'p> {
    /// Reads the posts of a proposal's topic. Posts of others, for other topics or of other kinds count
    /// nothing; signatures of posts were checked.
    pub fn read<'a>(proposal: &'p Proposal, posts: impl IntoIterator<Item = &'a Post>) -> Self {
        let mut round = Self {
            proposal,
            said: vec![Said::default(); proposal.seats().len()],
        };
        let topic = proposal.topic();
        for post in posts {
            let mut seats = proposal.seats().iter();
            let is_by = |seat: &Seat| *seat.author.signs.as_bytes() == post.author;
            if let (true, Some(at)) = (post.topic == topic, seats.position(is_by)) {
                round.hear(at, post);
            }
        }
        round
    }

    fn hear(&mut self, at: usize, post: &Post) {
        let (seat, plan) = (&self.proposal.seats()[at], self.proposal.plan());
        let said = &mut self.said[at];
        let fault = match post.kind {
            POST_HELLO => match read_hello(post, seat, self.proposal) {
                Ok(hello) => put(&mut said.hello, hello, "two-hellos"),
                Err(rule) => Some(rule),
            },
            POST_DEAL => {
                let deal = Deal::from_payload(&post.body);
                let deal = deal.filter(|deal| Some(deal.dealer()) == seat.role.dealer());
                match deal
                    .ok_or("layout")
                    .and_then(|deal| match deal.check(plan) {
                        Ok(()) => Ok(deal),
                        Err(error) => Err(error.as_str()),
                    }) {
                    Ok(deal) => put(&mut said.deal, deal, "two-deals"),
                    Err(rule) => Some(rule),
                }
            }
            POST_CHECKED => match post.body.as_slice().try_into() {
                Ok(context) => put(&mut said.checked, context, "context"),
                Err(_) => Some("layout"),
            },
            POST_COMPLAINT => {
                let rule = |name: &[u8]| PRIVATE.into_iter().find(|rule| rule.as_bytes() == name);
                match post.body.split_first() {
                    Some((dealer, name)) if rule(name).is_some() => {
                        said.complaints
                            .extend(rule(name).map(|rule| (*dealer, rule)));
                        None
                    }
                    _ => Some("layout"),
                }
            }
            POST_FINISHED => match post.body.split_first_chunk() {
                Some((epoch, id)) if id.len() == 32 => {
                    let mut bytes = [0; 32];
                    bytes.copy_from_slice(id);
                    let epoch = u32::from_be_bytes(*epoch);
                    put(&mut said.finished, (epoch, EpochId(bytes)), "epoch")
                }
                _ => Some("layout"),
            },
            _ => None,
        };
        // The first name in the alphabet, so that the order of posts does not count.
        said.fault = match (said.fault, fault) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// The hellos, in the order of the seats.
    pub fn hellos(&self) -> Vec<Hello> {
        self.said.iter().filter_map(|s| s.hello.clone()).collect()
    }

    /// The deals, in the order of the seats.
    pub fn deals(&self) -> Vec<Deal> {
        self.said.iter().filter_map(|s| s.deal.clone()).collect()
    }

    /// Names the run, for people to compare, once all said hello. Returns `None` before.
    pub fn context(&self) -> Option<[u8; 32]> {
        let participants = self.participants().ok()?;
        Some(participants.context(self.proposal.plan()))
    }

    /// Whether an author has posted something of that kind.
    pub fn has_posted(&self, author: &[u8; 32], kind: u8) -> bool {
        let mut all = self.proposal.seats().iter().zip(&self.said);
        let found = all.find(|(seat, _)| seat.author.signs.as_bytes() == author);
        found.is_some_and(|(_, said)| match kind {
            POST_HELLO => said.hello.is_some(),
            POST_DEAL => said.deal.is_some(),
            POST_CHECKED => said.checked.is_some(),
            POST_COMPLAINT => !said.complaints.is_empty(),
            POST_FINISHED => said.finished.is_some(),
            _ => false,
        })
    }

    /// Where it stands.
    pub fn standing(&self) -> Standing {
        let mut stops = self.faults();
        if !stops.is_empty() {
            return Standing::Stopped(stops);
        }
        let missing = |is_missing: &dyn Fn(Role, &Said) -> bool| -> Vec<String> {
            let all = self.proposal.seats().iter().zip(&self.said);
            let missing = all.filter(|(seat, said)| is_missing(seat.role, said));
            missing.map(|(seat, _)| name(seat)).collect()
        };
        let silent = missing(&|_, said| said.hello.is_none());
        if !silent.is_empty() {
            return Standing::Hellos(silent);
        }
        let silent = missing(&|role, said| role.dealer().is_some() && said.deal.is_none());
        let dealing = match silent.is_empty() {
            true => self.dealing(),
            false => self.early().map(|()| None),
        };
        let dealing = match dealing {
            Ok(Some(dealing)) => dealing,
            Ok(None) => return Standing::Deals(silent),
            Err(stop) => return Standing::Stopped(vec![stop]),
        };
        stops.extend(self.other_contexts(dealing.context()));
        if !stops.is_empty() {
            return Standing::Stopped(stops);
        }
        let silent = missing(&|role, said| role.trustee().is_some() && said.checked.is_none());
        if !silent.is_empty() {
            return Standing::Checks(silent);
        }
        Standing::Ready(missing(&|role, said| {
            role.trustee().is_some() && said.finished.is_none()
        }))
    }

    /// What all deals add up to, once it is [`Standing::Ready`]. Returns `None` before.
    pub fn ready(&self) -> Option<Dealing> {
        match self.standing() {
            Standing::Ready(_) => self.dealing().ok().flatten(),
            _ => None,
        }
    }

    /// Whether all trustees have their keys, of one epoch: whatever else somebody posted.
    pub fn is_over(&self) -> bool {
        let trustees = self.proposal.seats().iter().zip(&self.said);
        let trustees = trustees.filter(|(seat, _)| seat.role.trustee().is_some());
        let finished: Option<Vec<_>> = trustees.map(|(_, said)| said.finished).collect();
        finished.is_some_and(|all| all.windows(2).all(|two| two[0] == two[1]))
    }

    /// What posts show alone, and what trustees say of each other.
    fn faults(&self) -> Vec<Stop> {
        let all = || self.proposal.seats().iter().zip(&self.said);
        let mut stops = Vec::new();
        for (seat, said) in all() {
            stops.extend(said.fault.map(|rule| stop(seat, rule, None)));
            for (dealer, rule) in &said.complaints {
                let dealers = self.proposal.seats().iter();
                let mut accused =
                    dealers.filter(|seat| seat.role.dealer().map(Trustee::index) == Some(*dealer));
                let accused = accused.next();
                stops.extend(accused.map(|accused| stop(accused, rule, Some(name(seat)))));
            }
        }
        stops.sort();
        stops.dedup();
        stops
    }

    /// What is wrong with deals before all of them are there.
    fn early(&self) -> Result<(), Stop> {
        let participants = self.participants()?;
        for (seat, said) in self.proposal.seats().iter().zip(&self.said) {
            let other = said.deal.as_ref();
            if other.is_some_and(|deal| *deal.participants() != participants) {
                return Err(stop(seat, "hellos", None));
            }
        }
        Ok(())
    }

    fn participants(&self) -> Result<Participants, Stop> {
        let gathered = Participants::gather(self.proposal.plan(), &self.hellos());
        gathered.map_err(|error| self.broken(&error))
    }

    fn dealing(&self) -> Result<Option<Dealing>, Stop> {
        self.early()?;
        let participants = self.participants()?;
        let dealing = Dealing::among(self.proposal.plan(), participants, self.deals());
        dealing.map(Some).map_err(|error| self.broken(&error))
    }

    /// Trustees who checked under another context than that of these hellos.
    fn other_contexts(&self, context: &[u8; 32]) -> Vec<Stop> {
        let all = self.proposal.seats().iter().zip(&self.said);
        let other = all.filter(|(_, said)| said.checked.is_some_and(|said| said != *context));
        other.map(|(seat, _)| stop(seat, "context", None)).collect()
    }

    /// A broken rule, with the dealer or participant that the error names.
    fn broken(&self, error: &DkgError) -> Stop {
        let named = match error {
            DkgError::SameKey { trustee } => Some(*trustee),
            error => error.culprit(),
        };
        let is_named = |seat: &&Seat| match error {
            DkgError::SameKey { .. } => named == Some(seat.role.anyone()),
            _ => named.is_some() && named == seat.role.dealer(),
        };
        match self.proposal.seats().iter().find(is_named) {
            Some(seat) => stop(seat, error.as_str(), None),
            None => Stop {
                who: 0,
                name: "nobody in particular".to_owned(),
                rule: error.as_str(),
                accuser: None,
            },
        }
    }
}

/// The body of a complaint, if it is one that others have to be told: what they cannot see.
pub fn complaint(error: &DkgError) -> Option<Vec<u8>> {
    let dealer = error.culprit()?;
    let rule = error.as_str();
    let body = [&[dealer.index()], rule.as_bytes()].concat();
    PRIVATE.contains(&rule).then_some(body)
}

fn read_hello(post: &Post, seat: &Seat, proposal: &Proposal) -> Result<Hello, &'static str> {
    let hello = Hello::from_payload(&post.body).ok_or("layout")?;
    hello.check(proposal.plan()).map_err(|e| e.as_str())?;
    if hello.participant().role != seat.role {
        return Err("role");
    }
    match is_contributory(hello.participant().seal_key) {
        true => Ok(hello),
        false => Err("hello-key"),
    }
}

/// Keeps the one, or says by which rule there are two.
fn put<T: PartialEq>(kept: &mut Option<T>, new: T, rule: &'static str) -> Option<&'static str> {
    let is_other = kept.as_ref().is_some_and(|kept| *kept != new);
    kept.get_or_insert(new);
    is_other.then_some(rule)
}

/// A participant's name for people.
fn name(seat: &Seat) -> String {
    format!("{} ({})", seat.author.name, seat.role.name())
}

fn stop(seat: &Seat, rule: &'static str, accuser: Option<String>) -> Stop {
    Stop {
        who: seat.role.anyone().index(),
        name: name(seat),
        rule,
        accuser,
    }
}
