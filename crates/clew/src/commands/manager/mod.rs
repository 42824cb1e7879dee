//! `clew manager`: a group's manager as a service.

mod authors;
mod backup;
mod catch_up;
mod clock;
mod login;
mod plan;
mod retention;

pub use authors::fingerprint;
pub use plan::ready_on_board;

use super::bound::Bound;
use super::log::{Started, smallest_quorum};
use crate::cli::{Manager, ManagerServe, ManagerSetLog};
use crate::clock as time;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::random;
use clew_keys::files::{IfExists, MODE_SECRET, write_atomically};
use clew_keys::{IssuerKeyFile, TextFile};
use clew_manager::{Board, LOG, LOG_URL, SERVICE_TLS, Store};
use clew_service::board::BoardService;
use clew_service::http::ServiceUrl;
use clew_service::log::{Log, LogPages, SmallestQuorum};
use clew_service::manager::{
    BehindError, Feed, ManagedLog, Manager as Service, ManagerOptions, ManagerPages, RowService,
    compare_with, compare_with_own, router,
};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// What the service told last as its address, within the group's directory: for `clew manager login`.
const ADDRESS: &str = "issuer/address";

pub fn run(arguments: &Manager) -> Result<Status, Failure> {
    match arguments {
        Manager::Serve(arguments) => serve(arguments),
        Manager::Login(arguments) => login::login(arguments),
        Manager::Admit(arguments) => authors::admit(arguments),
        Manager::Dismiss(arguments) => authors::dismiss(arguments),
        Manager::Plan(arguments) => plan::plan(arguments),
        Manager::Plans(arguments) => plan::list(arguments),
        Manager::Authors(arguments) => authors::list(arguments),
        Manager::Backup(arguments) => backup::backup(arguments),
        Manager::Restore(arguments) => backup::restore(arguments),
        Manager::Check(arguments) => backup::check(arguments),
        Manager::CatchUp(arguments) => catch_up::run(arguments),
        Manager::Clock(arguments) => clock::run(arguments),
        Manager::Retention(arguments) => retention::rule(arguments),
        Manager::Prune(arguments) => retention::prune(arguments),
        Manager::SetLog(arguments) => set_log(arguments),
    }
}

fn set_log(arguments: &ManagerSetLog) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let _alone = Store::lock_service(&arguments.dir)?;
    let none = || {
        Failure::file(&arguments.dir, "the group has no log")
            .hint("run clew group set-log with the log's key first")
    };
    let log = store.group().newest_log().ok_or_else(none)?;
    let path = arguments.dir.join(LOG_URL);
    let url = format!("{}\n", arguments.url);
    let written = write_atomically(&path, url.as_bytes(), MODE_SECRET, IfExists::Replace);
    written.map_err(|error| Failure::io(&path, &error))?;
    say!("{} is at {}", log.key().name(), arguments.url);
    Ok(Status::Yes)
}

fn serve(arguments: &ManagerServe) -> Result<Status, Failure> {
    let dir = &arguments.dir;
    let store = Store::open(dir)?;
    let _lock = Store::lock_service(dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let rows_key = IssuerKeyFile::decode(&issuer.encode()).map_err(Failure::new)?;
    let tls = dir.join(SERVICE_TLS);
    let mut secret = DirBuilder::new();
    let made = secret.recursive(true).mode(0o700).create(&tls);
    made.map_err(|error| Failure::io(&tls, &error))?;
    let bound = Bound::at(arguments.listen, &arguments.reached, &tls)?;
    let url = bound.url.clone();
    let options = ManagerOptions {
        epoch_every: arguments.epoch_every,
        clock: time::now_ns,
        tell: |line| mention!("clew: {line}"),
    };
    let published = store.group_file_path();
    crate::tunnel::run(async {
        let mut own = own_log(&store, arguments, &url)?;
        let log = managed(&store, arguments, &url, own.as_ref()).await?;
        let (manager, thread) = Service::start_with_log(store, issuer, options, log, random::os())?;
        let rows = RowService::start(dir.clone(), rows_key, time::now_ns, random::os());
        let both = (Store::open(dir)?, Board::open(dir)?);
        let pin = Some(bound.certificate.pin());
        let pages = ManagerPages::new(both, manager.clone(), time::now_ns, pin)?;
        let board = BoardService::start(Board::open(dir)?, time::now_ns)?;
        match &own {
            Some(own) => {
                let log = url.at("log").map_err(Failure::new)?;
                say!("manager at {url}\n{}\nurl      {log}", own.described());
            }
            None => say!("manager at {url}"),
        }
        let path = dir.join(ADDRESS);
        let told = format!("{url}\n");
        write_atomically(&path, told.as_bytes(), MODE_SECRET, IfExists::Replace)
            .map_err(|error| Failure::io(&path, &error))?;
        own.as_ref().inspect(|own| own.warn());
        if let Some(own) = &own {
            let (path, quorum) = (published, own.quorum.clone());
            tokio::spawn(follow_quorum(path, quorum, manager.feed()));
        }
        let deleting = tokio::spawn(retention::daily(dir.clone()));
        let router = router(manager)
            .merge(board.router())
            .merge(rows.router(board.clone()))
            .merge(pages.router());
        let served = bound.serve(router).await;
        deleting.abort();
        // What was answered is on disk; what was not published yet is published now.
        let ended = tokio::task::spawn_blocking(|| thread.join()).await;
        if let Some(own) = own.take() {
            own.service.stop().await;
        }
        match ended {
            Ok(Ok(())) => served.map(|()| Status::Yes),
            _ => Err(Failure::new("the store's thread ended")),
        }
    })
}

/// Reads the quorum again, for the public count, whenever the feed has something new. Ends with the feed.
async fn follow_quorum(
    path: PathBuf,
    quorum: SmallestQuorum,
    mut feed: watch::Receiver<Arc<Feed>>,
) {
    while feed.changed().await.is_ok() {
        let path = path.clone();
        let read = move || read_group_file(&path).map(|group| smallest_quorum(&group));
        // A file that cannot be read is the worker's trouble: the count keeps the number that it has.
        if let Ok(Ok(number)) = tokio::task::spawn_blocking(read).await {
            quorum.set(number);
        }
    }
}

/// Starts the log in the group's directory, if that is the one that the group file names.
fn own_log(
    store: &Store,
    arguments: &ManagerServe,
    url: &ServiceUrl,
) -> Result<Option<Started>, Failure> {
    let dir = arguments.dir.join(LOG);
    let named = store.group().newest_log().filter(|_| dir.exists());
    let Some(named) = named else {
        let asked = &arguments.asked;
        let is_asked = !asked.witness.is_empty() || !asked.without.is_empty();
        return match is_asked || asked.threshold.is_some() {
            true => Err(Failure::file(&dir, "the group has no log of its own here")
                .hint("name witnesses with clew log serve, on the log's host")),
            false => Ok(None),
        };
    };
    let log = Log::open(&dir, |path| arguments.unlock.log_key(path))?;
    match log.public() == named.key() {
        true => {
            compare_with_own(store, &log).map_err(|error| behind(arguments, error))?;
            let quorum = SmallestQuorum::default();
            quorum.set(smallest_quorum(store.group()));
            let pages = LogPages {
                url: url.at("log").map_err(Failure::new)?.to_string(),
                quorum,
            };
            Started::new(log, &arguments.asked, pages).map(Some)
        }
        false => Ok(None),
    }
}

/// The log that the group file names: this service's own, or the one at the address that was set.
async fn managed(
    store: &Store,
    arguments: &ManagerServe,
    url: &ServiceUrl,
    own: Option<&Started>,
) -> Result<Option<ManagedLog>, Failure> {
    let Some(named) = store.group().newest_log() else {
        return Ok(None);
    };
    if let Some(own) = own {
        return Ok(Some(ManagedLog::embedded(url, &own.service)));
    }
    let path = arguments.dir.join(LOG_URL);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            mention!("warning: nothing is sent to the group's log: its address is not known");
            mention!("hint: run clew manager set-log");
            return Ok(None);
        }
        Err(error) => return Err(Failure::io(&path, &error)),
    };
    let to = text.trim().parse();
    let to: ServiceUrl = to.map_err(|error| Failure::file(&path, error))?;
    let log = ManagedLog::remote(&to, named.key().clone()).map_err(Failure::new)?;
    match compare_with(store, log.client()).await {
        Err(BehindError::Unanswered(error)) => {
            mention!("warning: the group's log does not answer: {error}");
            mention!("whether it has entries that this store lacks is found out later");
        }
        compared => compared.map_err(|error| behind(arguments, error))?,
    }
    Ok(Some(log))
}

/// What to do if store and log are not of the same time.
fn behind(arguments: &ManagerServe, error: BehindError) -> Failure {
    let hint = match &error {
        BehindError::Store => {
            "restore a newer backup. If there is none, give the group a new log, which begins with what \
             this store has: clew group set-log"
        }
        BehindError::Log => {
            "restore the log of the newest backup, or give the group a new log: clew group set-log"
        }
        _ => return Failure::file(&arguments.dir, error),
    };
    Failure::file(&arguments.dir, error).hint(hint)
}
