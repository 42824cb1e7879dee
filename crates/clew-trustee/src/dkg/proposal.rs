//! A plan with the names of those who take part: what the manager posts on its board.

use super::hello::{Role, each_once};
use super::{DkgError, Plan, hash};
use clew_evidence::wire::Reader;
use clew_keys::{Author, TextFile};

const LABEL: &str = "clew-dkg-proposal-1";

/// Who takes part in a plan as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its index in the new key, and its index as a dealer.
    pub role: Role,
    /// Its author key: it signs all that the participant posts.
    pub author: Author,
}

/// A plan and its seats (`spec/opening-key.md` section 9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    plan: Plan,
    seats: Vec<Seat>,
}

impl Proposal {
    /// Puts seats to a plan.
    ///
    /// # Errors
    /// [`DkgError::NoHello`], [`DkgError::TwoHellos`] if a participant has no seat, or two;
    /// [`DkgError::Role`] if a seat is for nobody of the plan; [`DkgError::SameKey`] if an author has
    /// two seats.
    pub fn new(plan: Plan, mut seats: Vec<Seat>) -> Result<Self, DkgError> {
        seats.sort_by_key(|seat| seat.role.order());
        let proposal = Self { plan, seats };
        proposal.check()?;
        Ok(proposal)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Who takes part: the trustees of the new key first.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// The seat of an author.
    pub fn seat_of(&self, author: &[u8; 32]) -> Option<&Seat> {
        let mut seats = self.seats.iter();
        seats.find(|seat| seat.author.signs.as_bytes() == author)
    }

    /// The board's topic for all that is posted about it: a hash of all that it says.
    pub fn topic(&self) -> [u8; 32] {
        hash(LABEL, &[&self.encode()])
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.seats.len() as u8];
        for seat in &self.seats {
            out.extend(seat.role.to_bytes());
            seat.author.write(&mut out);
        }
        self.plan.write(&mut out);
        out
    }

    /// Reads a proposal. Returns `None` if a field is wrong, or the seats are not those of the plan.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        let count = fields.u8()?;
        let seat = |_| {
            Some(Seat {
                role: Role::read(&mut fields)?,
                author: Author::read(&mut fields)?,
            })
        };
        let seats: Vec<_> = (0..count).map(seat).collect::<Option<_>>()?;
        let is_sorted = seats.is_sorted_by_key(|seat| seat.role.order());
        let plan = Plan::read(&mut fields)?;
        let whole = is_sorted && fields.0.is_empty();
        Self::new(plan, seats).ok().filter(|_| whole)
    }

    fn check(&self) -> Result<(), DkgError> {
        let plan = &self.plan;
        self.seats
            .iter()
            .try_for_each(|seat| seat.role.check(plan))?;
        let roles = self.seats.iter().map(|seat| seat.role);
        each_once(plan.quorum.all(), roles.clone().map(Role::trustee))?;
        each_once(plan.dealers(), roles.map(Role::dealer))?;
        for (i, seat) in self.seats.iter().enumerate() {
            let mut earlier = self.seats.iter().take(i);
            if earlier.any(|other| other.author.signs == seat.author.signs) {
                let trustee = seat.role.anyone();
                return Err(DkgError::SameKey { trustee });
            }
        }
        Ok(())
    }
}
