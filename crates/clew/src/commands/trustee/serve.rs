//! `clew trustee serve`: asks the manager's board for work, does what needs no decision, and tells the
//! operator what does. It listens only with `--page`, for its operator.

use super::docket::OwnDocket;
use super::home::{Home, Identity, get, passing, put};
use super::page::{OwnPage, notifier};
use super::pending::Pending;
use super::plans;
use super::requests;
use crate::cli::TrusteeServe;
use crate::clock;
use crate::commands::group::{jittered, unanswered};
use crate::commands::request::answer::Record;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use clew_evidence::GroupFile;
use clew_keys::post::{BoardId, Post};
use clew_manager::POST_PLAN;
use clew_service::board::BoardClient;
use clew_service::http::ClientError;
use clew_service::manager::{Followed, ManagerClient, follow};
use clew_service::trustee::{Docket, Metrics, Standing};
use clew_trustee::request::CASE_KIND;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a request for news waits. A trustee that is stopped ends after so long at the latest.
const WAIT: Duration = Duration::from_secs(20);
/// Lists of news that one turn looks at.
const LISTS_MAX: usize = 64;
/// Shortest time of a turn.
const TURN_MIN: Duration = Duration::from_millis(200);
/// First and longest pause after a failure.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// Most posts of a plan's topic that are read: those of 64 seats, as the board limits them.
const POSTS_MAX: usize = 4_096;
/// Most bytes of them: those of other sizes are none of a key generation.
const BYTES_MAX: usize = 64 << 20;
/// Most answers of the board that one look at a new topic reads: some 32 MiB.
const PAGES_MAX: usize = 64;
/// Topics of which is known how far they were looked at.
const LOOKED_MAX: usize = 10_000;

/// What each kind of work has at hand.
pub struct Context {
    pub home: Home,
    pub identity: Arc<Identity>,
    pub board: BoardClient,
    pub manager: ManagerClient,
    pub group: GroupFile,
    group_bytes: Vec<u8>,
    /// Requests that need a turn.
    pub requests: Pending,
    /// How far topics were looked at that are not known as requests.
    looked: BTreeMap<[u8; 32], u64>,
    docket: Arc<OwnDocket>,
    metrics: Arc<Metrics>,
}

pub fn run(arguments: &TrusteeServe) -> Result<Status, Failure> {
    let home = Home::open(&arguments.dir)?;
    let _lock = home.lock()?;
    let (url, group) = (home.url()?, home.group()?);
    let identity = Arc::new(home.identity(&arguments.unlock)?);
    let notifier = notifier(&home)?;
    let name = group.genesis().name.to_string();
    let docket = Arc::new(OwnDocket::new(home.clone(), Arc::clone(&identity), name));
    let path = home.path("group.clew");
    let board = BoardId::of_group(group.id());
    let board = BoardClient::new(&url, board, &identity.key, clock::now_ns);
    let mut context = Context {
        board: board.map_err(|error| asked(&error))?,
        manager: ManagerClient::new(&url).map_err(|error| asked(&error))?,
        group_bytes: std::fs::read(&path).map_err(|error| Failure::io(&path, &error))?,
        home,
        identity,
        group,
        requests: Pending::default(),
        looked: BTreeMap::new(),
        docket,
        metrics: Arc::new(Metrics::default()),
    };
    crate::tunnel::run(async {
        if arguments.once {
            context.turn(Duration::ZERO).await?;
            return Ok(Status::Yes);
        }
        let (docket, metrics) = (Arc::clone(&context.docket), Arc::clone(&context.metrics));
        let page = |at| OwnPage::new(&context.home, at, Arc::clone(&docket), Arc::clone(&metrics));
        if let Some(page) = arguments.page.map(page).transpose()? {
            tokio::spawn(page.run());
        }
        if let Some(notifier) = notifier {
            tokio::spawn(notifier.run(docket, metrics));
        }
        mention!("clew: trustee {} asks {url}", context.identity.key.name());
        crate::commands::bound::ready();
        tokio::select! {
            () = crate::tunnel::over(Until::after(None)) => Ok(Status::Yes),
            ended = context.serve() => ended,
        }
    })
}

impl Context {
    /// Turns until a failure that no further turn mends.
    async fn serve(&mut self) -> Result<Status, Failure> {
        let (mut wait, mut pause) = (Duration::ZERO, PAUSE[0]);
        loop {
            let began = Instant::now();
            let turned = self.turn(wait).await;
            self.stand(&turned);
            match turned {
                Ok(()) => {
                    let is_busy = self.requests.has_more();
                    wait = if is_busy { Duration::ZERO } else { WAIT };
                    pause = PAUSE[0];
                    // However fast the board answers.
                    tokio::time::sleep(TURN_MIN.saturating_sub(began.elapsed())).await;
                }
                Err(failure) if passing(&failure) => {
                    mention!("clew: {}; trying again", failure.message);
                    tokio::time::sleep(jittered(pause)).await;
                    pause = (pause * 2).min(PAUSE[1]);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Says how the work goes, for the page.
    fn stand(&self, turned: &Result<(), Failure>) {
        let (counter, trouble) = match turned {
            Ok(()) => (&self.metrics.turns, self.requests.trouble()),
            Err(failure) => (&self.metrics.failures, Some(failure.message.as_str())),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let answered = match turned {
            Ok(()) => Some(Instant::now()),
            Err(_) => self.docket.standing().answered,
        };
        self.docket.set_standing(Standing {
            answered,
            trouble: trouble.map(str::to_owned),
        });
    }

    /// Posts behind a number, or none if the operator decides something meanwhile.
    async fn news(&self, at: u64, wait: Duration) -> Result<Vec<(u64, [u8; 32])>, ClientError> {
        tokio::select! {
            news = self.board.news(at, wait) => news,
            () = self.docket.ordered(), if !wait.is_zero() => Ok(Vec::new()),
        }
    }

    /// Looks once at everything that is new, and works on it. With a wait, first waits for news.
    async fn turn(&mut self, wait: Duration) -> Result<(), Failure> {
        let (mut at, mut wait) = (self.at()?, wait);
        // However many numbers the board has: plans and requests get their turn.
        for _ in 0..LISTS_MAX {
            let news = match self.news(at, wait).await {
                Err(ClientError::Refused { problem, .. }) if problem.title == "after" && at > 0 => {
                    mention!("clew: the board lost posts: looking at all of it again");
                    at = 0;
                    continue;
                }
                news => news.map_err(|error| asked(&error))?,
            };
            self.follow().await?;
            let topics: BTreeSet<[u8; 32]> = news.iter().map(|(_, topic)| *topic).collect();
            for topic in topics {
                // A request's posts are read when it has its turn, and each once.
                let is_known = Record::at(self.home.dir(), &topic).review()?.is_some();
                let (plans, from) = match is_known {
                    true => (Vec::new(), BTreeSet::new()),
                    false => self.new_posts(&topic).await?,
                };
                plans::arrived(self, &plans)?;
                requests::arrived(self, &topic, &from)?;
            }
            let Some((last, _)) = news.last() else { break };
            (at, wait) = (*last, Duration::ZERO);
            // Only now: whatever was new is on the disk of this trustee.
            put(&self.home.path("board.at"), at.to_string().as_bytes())?;
        }
        // A key generation that cannot go on keeps no request from its answer.
        let generations = plans::turn(self).await;
        requests::turn(self).await?;
        generations
    }

    /// The number of the last post that was looked at.
    fn at(&self) -> Result<u64, Failure> {
        let text = get(&self.home.path("board.at"))?.unwrap_or_default();
        let text = String::from_utf8(text).unwrap_or_default();
        Ok(text.trim().parse().unwrap_or(0)) // looking again at everything harms nothing
    }

    /// What is new of a topic that is not known as a request: plans, and who showed a case. The case itself
    /// is read when it has its turn.
    async fn new_posts(
        &mut self,
        topic: &[u8; 32],
    ) -> Result<(Vec<Post>, BTreeSet<[u8; 32]>), Failure> {
        let mut after = self.looked.get(topic).copied().unwrap_or(0);
        let (mut plans, mut from) = (Vec::new(), BTreeSet::new());
        for _ in 0..PAGES_MAX {
            let more = self.board.topic(topic, after, Duration::ZERO).await;
            let more = more.map_err(|error| asked(&error))?;
            let Some(last) = more.last() else { break };
            after = last.place;
            for post in more.into_iter().map(|placed| placed.post) {
                match post.kind {
                    CASE_KIND => drop(from.insert(post.author)),
                    POST_PLAN => plans.push(post),
                    _ => {}
                }
            }
        }
        if self.looked.len() >= LOOKED_MAX {
            self.looked.clear();
        }
        self.looked.insert(*topic, after);
        Ok((plans, from))
    }

    /// All posts of a plan's topic.
    pub async fn posts(&self, topic: &[u8; 32]) -> Result<Vec<Post>, Failure> {
        let (mut posts, mut after, mut bytes) = (Vec::new(), 0, 0);
        while posts.len() < POSTS_MAX && bytes < BYTES_MAX {
            let more = self.board.topic(topic, after, Duration::ZERO).await;
            let more = more.map_err(|error| asked(&error))?;
            let Some(last) = more.last() else { break };
            after = last.place;
            bytes += more
                .iter()
                .map(|placed| placed.post.body.len())
                .sum::<usize>();
            posts.extend(more.into_iter().map(|placed| placed.post));
        }
        Ok(posts)
    }

    /// Posts.
    pub async fn say(&self, topic: [u8; 32], kind: u8, body: Vec<u8>) -> Result<(), Failure> {
        let post = self.board.sign(topic, kind, body);
        let post = post.ok_or_else(|| Failure::new("a post is too long"))?;
        let said = self.board.post(&post).await;
        said.map(drop).map_err(|error| asked(&error))
    }

    /// Brings the group file to what the manager's feed has.
    async fn follow(&mut self) -> Result<(), Failure> {
        let head = self.manager.head(None, Duration::ZERO).await;
        let head = head.map_err(|error| asked(&error))?;
        let Some((head, _)) = head else {
            return Ok(());
        };
        let followed = follow(&self.manager, &head, &self.group, &self.group_bytes).await;
        match followed {
            Ok(Followed::Current) => Ok(()),
            Ok(Followed::Newer(group, bytes)) => {
                put(&self.home.path("group.clew"), &bytes)?;
                (self.group, self.group_bytes) = (*group, bytes);
                Ok(())
            }
            Err(error) => {
                let path = self.home.path("group.clew");
                let failure = Failure::file(&path, &error);
                Err(if error.is_no() { failure.no() } else { failure })
            }
        }
    }
}

/// Why the manager did not answer. It may later, unless it is another one.
fn asked(error: &ClientError) -> Failure {
    let failure = unanswered(error);
    match error {
        ClientError::Pin(_) => failure.no(),
        ClientError::Refused { problem, .. } if problem.title == "author" => {
            let why = "the manager has not admitted this trustee, or dismissed it";
            Failure::new(why).hint("clew manager admit, on the manager's host")
        }
        _ => Failure {
            status: Status::CouldNotTell,
            ..failure
        },
    }
}
