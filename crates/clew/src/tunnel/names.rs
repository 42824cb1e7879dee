//! Name servers behind a directory: they are asked for what its folder does not have.

use super::link;
use super::records;
use crate::failure::Failure;
use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Config, Target};
use clew_tunnel::record::{Cert, Record};
use clew_tunnel_udp::{Answer, Client, Error, State, Tunnel};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tracing::warn;

/// How long a record is given without asking again: a newer one may have other addresses.
const KEEP: Duration = Duration::from_secs(60);

/// How long a host that no name server has is not asked for again.
const KEEP_NONE: Duration = Duration::from_secs(5);

/// How long a name server has to answer: less than who asks the directory waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers that are kept; more are not.
const KEPT_MAX: usize = 100_000;

/// Questions that are under way at once; more are refused (`busy`).
const ASKED_MAX: usize = 256;

/// Whom somebody looks for: the key, if it is known, and the name.
type Question = (Option<[u8; 32]>, String);

/// Name servers, in the order in which they are asked.
#[derive(Clone)]
pub struct Names(Arc<Shared>);

struct Shared {
    client: Client,
    services: Vec<Service>,
    kept: Mutex<HashMap<Question, Kept>>,
    room: Arc<Semaphore>,
}

/// What the name servers said, and until when that is good.
struct Kept {
    record: Option<Record>,
    until: Instant,
}

struct Service {
    /// Its record.
    path: PathBuf,
    tunnel: tokio::sync::Mutex<Option<Arc<Tunnel>>>,
    /// That it does not answer was said.
    is_down: AtomicBool,
}

impl Names {
    /// Those whose records are in these files. Within tokio.
    ///
    /// # Errors
    /// The files'; the system's, of sockets.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let client = Client::new(Config::default());
        let client = client.map_err(|e| Failure::new(format!("cannot open sockets: {e}")))?;
        let mut services = Vec::with_capacity(paths.len());
        for path in paths {
            // What is wrong with a file is said now, not when somebody asks.
            records::read(path)?;
            services.push(Service {
                path: path.clone(),
                tunnel: tokio::sync::Mutex::default(),
                is_down: AtomicBool::new(false),
            });
        }
        Ok(Self(Arc::new(Shared {
            client,
            services,
            kept: Mutex::default(),
            room: Arc::new(Semaphore::new(ASKED_MAX)),
        })))
    }

    /// Answers with what is kept, or once a name server has answered.
    pub fn find(&self, signing: Option<[u8; 32]>, hostname: &str, answer: Answer) {
        let question = (signing, hostname.to_owned());
        if let Some(known) = self.0.known(&question) {
            return answer.give(known.ok_or(Reason::UnknownHost));
        }
        let Ok(room) = Arc::clone(&self.0.room).try_acquire_owned() else {
            return answer.give(Err(Reason::Busy));
        };
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            answer.give(shared.ask(question).await.ok_or(Reason::UnknownHost));
            drop(room);
        });
    }
}

impl Shared {
    fn with<T>(&self, see: impl FnOnce(&mut HashMap<Question, Kept>) -> T) -> T {
        see(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn known(&self, question: &Question) -> Option<Option<Record>> {
        let now = Instant::now();
        self.with(|kept| {
            let found = kept.get(question).filter(|kept| kept.until > now);
            found.map(|kept| kept.record.clone())
        })
    }

    fn keep(&self, question: Question, record: Option<Record>) {
        let now = Instant::now();
        let long = match &record {
            None => KEEP_NONE,
            Some(record) => {
                let left = record.ecert.body.end.saturating_sub(records::now());
                KEEP.min(Duration::from_millis(left))
            }
        };
        let until = now + long;
        self.with(|kept| {
            if kept.len() >= KEPT_MAX {
                kept.retain(|_, kept| kept.until > now);
            }
            if kept.len() < KEPT_MAX {
                kept.insert(question, Kept { record, until });
            }
        });
    }

    /// What the first name server has that has this host.
    async fn ask(&self, question: Question) -> Option<Record> {
        let mut have_all_answered = true;
        for service in &self.services {
            match service.ask(&self.client, &question).await {
                Ok(Some(record)) => {
                    self.keep(question, Some(record.clone()));
                    return Some(record);
                }
                Ok(None) => {}
                Err(()) => have_all_answered = false,
            }
        }
        if have_all_answered {
            self.keep(question, None);
        }
        None
    }
}

impl Service {
    /// What it has. An error was said, once until it answers again.
    async fn ask(&self, client: &Client, question: &Question) -> Result<Option<Record>, ()> {
        let asked = tokio::time::timeout(PATIENCE, self.try_ask(client, question)).await;
        let none = || Failure::new(format!("{}: no answer", self.path.display()));
        let asked = asked.unwrap_or_else(|_| Err(none()));
        if asked.is_err() {
            // It may have started anew, and know the tunnel no more.
            *self.tunnel.lock().await = None;
        }
        let was_down = self.is_down.swap(asked.is_err(), Ordering::Relaxed);
        asked.map_err(|failure| {
            if !was_down {
                warn!("{}", failure.message);
            }
        })
    }

    async fn try_ask(
        &self,
        client: &Client,
        question: &Question,
    ) -> Result<Option<Record>, Failure> {
        let (signing, host) = question;
        let tunnel = self.tunnel(client).await?;
        let record = match tunnel.lookup(*signing, host).await {
            Ok(record) => record,
            Err(Error::Refused(Reason::UnknownHost)) => return Ok(None),
            Err(error) => return Err(link::why(&tunnel, error, &self.path.to_string_lossy())),
        };
        // Whom to trust is for who asks to say. What is of another host, or none at all, is not kept.
        let is_asked = |cert: &Cert| signing.is_none_or(|key| key == cert.body.signing);
        match records::verify(&record, Some(host), is_asked) {
            // Of one that has ended the server gives a newer one.
            Ok(()) | Err(Reason::Expired) => Ok(Some(record)),
            Err(reason) => {
                let what = format!("{}: {host}", self.path.display());
                Err(records::refused(&what, reason))
            }
        }
    }

    /// A tunnel to it: the one that there is, or a new one.
    async fn tunnel(&self, client: &Client) -> Result<Arc<Tunnel>, Failure> {
        let mut held = self.tunnel.lock().await;
        let is_there =
            |tunnel: &Arc<Tunnel>| matches!(*tunnel.state().borrow(), State::Opening | State::Open);
        if let Some(tunnel) = held.as_ref().filter(|tunnel| is_there(tunnel)) {
            return Ok(Arc::clone(tunnel));
        }
        let record = link::renewed(client, &self.path, PATIENCE).await?;
        let tunnel = client.prepare(Target::Host(Box::new(record)));
        let tunnel = Arc::new(tunnel);
        *held = Some(Arc::clone(&tunnel));
        Ok(tunnel)
    }
}
