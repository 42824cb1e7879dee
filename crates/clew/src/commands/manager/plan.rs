//! `clew manager plan` and `plans`: key generations on the board, on the manager's side.

use super::authors::opening_key;
use crate::cli::{ManagerAuthors, ManagerPlan};
use crate::clock;
use crate::commands::opening_key::failed;
use crate::commands::trustee::{id_of, purpose, sentence, standing};
use crate::failure::{Failure, Status};
use crate::random;
use crate::secrets;
use clew_group::quorum::{Quorum, Set, Trustee};
use clew_keys::Author;
use clew_keys::post::Post;
use clew_log::entry::{Role as AuthorRole, Trusteeship};
use clew_manager::{Board, BoardError, POST_PLAN, Store};
use clew_trustee::dkg::round::Round;
use clew_trustee::dkg::{Dealing, Plan, Proposal, Role, Seat};
use std::path::Path;

pub fn plan(arguments: &ManagerPlan) -> Result<Status, Failure> {
    let quorum = Quorum::new(arguments.threshold, arguments.trustees).map_err(Failure::new)?;
    let store = Store::open(&arguments.dir)?;
    let (group, mut rng) = (store.group(), random::os());
    let plan = if arguments.reshare {
        let from = arguments.with.iter().map(|index| Trustee::new(*index));
        let from: Result<Vec<_>, _> = from.collect();
        let from = from.and_then(Set::of).map_err(Failure::new)?;
        Plan::resharing(group, from, quorum, &mut rng)
    } else {
        Plan::new_key(group, quorum, &mut rng)
    };
    let plan = plan.map_err(failed)?;
    let seats = seats(arguments, &store, &plan)?;
    let proposal = Proposal::new(plan, seats).map_err(failed)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let mut board = Board::open(&arguments.dir)?;
    let (topic, body) = (proposal.topic(), proposal.encode());
    let post = Post::sign(board.id(), topic, POST_PLAN, body, &issuer.manager);
    let post = post.ok_or_else(|| Failure::new("the plan is too long"))?;
    board.post(&post, clock::now_ns()).map_err(refused)?;
    tell(&proposal);
    say!("  Next, each of them: clew trustee list, then clew trustee approve");
    Ok(Status::Yes)
}

/// Who takes part: the trustees of the new key, and in a resharing the old ones that deal.
fn seats(arguments: &ManagerPlan, store: &Store, plan: &Plan) -> Result<Vec<Seat>, Failure> {
    let authors = store.authors()?;
    let (held, since) = (store.trusteeships()?, opening_key(store.group()));
    let admitted = |index: u8| {
        let of = Trusteeship { since, index };
        let (_, key) = held.iter().find(|(held, _)| *held == of)?;
        let mut all = authors.iter();
        let found = all.find(|known| known.author.signs.as_bytes() == key);
        found.map(|known| known.author.clone())
    };
    let unknown = |index: u8| {
        Failure::new(format!("no author is admitted as trustee {index}"))
            .hint("clew manager admit DIR --role trustee --index I --key FILE, or --trustee I=FILE")
    };
    if let Some((index, _)) = arguments
        .trustee
        .iter()
        .find(|(i, _)| *i > arguments.trustees)
    {
        return Err(Failure::new(format!(
            "--trustee {index}: the plan has fewer trustees"
        )));
    }
    let mut seats: Vec<(Option<Trustee>, Option<Trustee>, Author)> = Vec::new();
    for trustee in plan.quorum.all().iter() {
        let mut named = arguments.trustee.iter();
        let author = match named.find(|(index, _)| *index == trustee.index()) {
            Some((_, path)) => secrets::read(path)?,
            None => admitted(trustee.index()).ok_or_else(|| unknown(trustee.index()))?,
        };
        let mut known = authors.iter();
        let has_name = |known: &clew_manager::AdmittedAuthor| {
            let is_other = known.author.signs != author.signs && known.role != AuthorRole::None;
            is_other && known.author.name == author.name
        };
        if known.any(has_name) {
            let why = format!("another author is called {}", author.name);
            return Err(
                Failure::new(why).hint("give this key another name: clew trustee init --name")
            );
        }
        let dealer = plan.old_key().is_none().then_some(trustee);
        seats.push((Some(trustee), dealer, author));
    }
    if plan.old_key().is_some() {
        for dealer in plan.dealers().iter() {
            let author = admitted(dealer.index()).ok_or_else(|| unknown(dealer.index()))?;
            match seats.iter_mut().find(|seat| seat.2.signs == author.signs) {
                Some(seat) => seat.1 = Some(dealer),
                None => seats.push((None, Some(dealer), author)),
            }
        }
    }
    let seat = |(trustee, dealer, author)| {
        Some(Seat {
            role: Role::new(trustee, dealer)?,
            author,
        })
    };
    Ok(seats.into_iter().filter_map(seat).collect())
}

pub fn list(arguments: &ManagerAuthors) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let board = Board::open(&arguments.dir)?;
    for topic in board.plans()? {
        let (proposal, posts) = read(&board, &store, &topic)?;
        tell(&proposal);
        let status = standing(&Round::read(&proposal, &posts));
        say!("  {}", sentence(&status));
        if let Some(code) = status["check_code"].as_str() {
            say!("  check code  {code}");
        }
    }
    Ok(Status::Yes)
}

fn tell(proposal: &Proposal) {
    let quorum = proposal.plan().quorum;
    let (t, n) = (quorum.threshold(), quorum.trustees());
    let id = id_of(&proposal.topic());
    say!(
        "plan {id}: {}, any {t} of {n} trustees open together",
        purpose(proposal)
    );
    for seat in proposal.seats() {
        let name = &seat.author.name;
        say!(
            "  {}  {name}  {}",
            seat.role.name(),
            super::fingerprint(&seat.author)
        );
    }
}

/// What the deals of a plan on the board add up to, and the trustees of the new key.
///
/// # Errors
/// There is no such plan, or it is not ready: the message says whom it waits for, or who cheated.
pub fn ready_on_board(dir: &Path, id: &str) -> Result<(Dealing, Vec<(u8, Author)>), Failure> {
    let store = Store::open(dir)?;
    let board = Board::open(dir)?;
    let mut topics = board.plans()?;
    topics.retain(|topic| id_of(topic).starts_with(id));
    let [topic] = topics[..] else {
        let why = format!("--from-board {id}: need 1 such plan, have {}", topics.len());
        return Err(Failure::new(why).hint("clew manager plans DIR lists them"));
    };
    let (proposal, posts) = read(&board, &store, &topic)?;
    let round = Round::read(&proposal, &posts);
    let dealing = round.ready().ok_or_else(|| {
        let status = standing(&round);
        let failure = Failure::new(format!("plan {id}: {}", sentence(&status)));
        match status["stage"].as_str() {
            Some("stopped") => failure.no().hint("make a new plan without the cheat"),
            _ => failure.hint("run the command again when all trustees have checked"),
        }
    })?;
    let seats = proposal.seats().iter();
    let trustee = |seat: &Seat| Some((seat.role.trustee()?.index(), seat.author.clone()));
    Ok((dealing, seats.filter_map(trustee).collect()))
}

/// A plan, and all posts of its topic whose signatures hold: the database may have been changed.
fn read(board: &Board, store: &Store, topic: &[u8; 32]) -> Result<(Proposal, Vec<Post>), Failure> {
    let (mut posts, mut after) = (Vec::new(), 0);
    let manager = store.group().genesis().manager;
    loop {
        let more = board.read(&manager, topic, after).map_err(refused)?;
        let Some((last, _)) = more.last() else { break };
        after = *last;
        let read = more.iter().filter_map(|(_, bytes)| Post::decode(bytes));
        posts.extend(read.filter(Post::is_signed));
    }
    let plan = posts.iter().find(|post| post.kind == POST_PLAN);
    let plan = plan.and_then(|post| Proposal::decode(&post.body));
    let plan = plan.ok_or_else(|| Failure::new("the store's board has a damaged plan"))?;
    Ok((plan, posts))
}

fn refused(error: BoardError) -> Failure {
    match error {
        BoardError::Store(error) => error.into(),
        error => Failure::new(error).no(),
    }
}
