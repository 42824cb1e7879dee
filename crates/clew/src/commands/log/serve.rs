//! `clew log serve` and `clew log witness`.

use super::audit::threshold as smallest_quorum;
use super::{most_of, stored};
use crate::cli::{Listening, LogServe, LogWitness};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::groups::read_group_file;
use clew_service::http::{Certificate, Router, Server, ServerLimits, ServiceUrl};
use clew_service::log::{
    Log, LogOptions, LogPages, LogService, Status as LogStatus, WitnessAddress, group_file_of,
};
use clew_service::witness::{self, WitnessOptions, WitnessStore};
use sd_notify::NotifyState;
use std::net::TcpListener;
use std::path::Path;

pub async fn log(arguments: &LogServe) -> Result<Status, Failure> {
    let mut log = Log::open(&arguments.dir).map_err(stored)?;
    let witnesses = witnesses(&mut log, arguments)?;
    let count = witnesses.len();
    let threshold = arguments.threshold.unwrap_or(most_of(count));
    if threshold > count || (threshold == 0 && count > 0) {
        let why = format!("--threshold {threshold}: need 1 to {count}, the number of witnesses");
        return Err(Failure::new(why));
    }
    let bound = Bound::at(&arguments.at, &arguments.dir)?;
    let key = log.public().clone();
    let size = log.newest().size;
    let options = LogOptions {
        clock: clock::wall_time,
        witnesses,
        threshold,
        tell: |line| mention!("clew: {line}"),
        pages: LogPages {
            url: bound.url.to_string(),
            quorum: quorum(&arguments.dir)?,
        },
    };
    let service = LogService::start(log, options).map_err(stored)?;
    say!("log      {key}");
    say!("entries  {size}");
    say!("url      {}", bound.url);
    mention!("pages for people at the same address");
    match count {
        0 => mention!("warning: no witness: if this log shows two histories, nobody notices"),
        count => mention!("{threshold} of {count} witnesses have to cosign"),
    }
    let mut status = service.status();
    let told = tokio::spawn(async move {
        if let Ok(opened) = status
            .wait_for(|status| *status != LogStatus::Starting)
            .await
        {
            match &*opened {
                LogStatus::Halted(_) => mention!("clew: this log adds nothing any more"),
                _ => mention!("adds entries"),
            }
        }
    });
    let router = service.router();
    bound.serve(router).await;
    told.abort();
    service.stop().await;
    Ok(Status::Yes)
}

/// The smallest quorum that the group had when the log was bound, if there is its group file.
fn quorum(dir: &Path) -> Result<Option<u8>, Failure> {
    let path = group_file_of(dir);
    let group = path.exists().then(|| read_group_file(&path)).transpose()?;
    Ok(group.as_ref().map(smallest_quorum))
}

/// The witnesses that the log remembers, after what the arguments change.
fn witnesses(log: &mut Log, arguments: &LogServe) -> Result<Vec<WitnessAddress>, Failure> {
    for key in &arguments.without {
        log.remove_witness(key).map_err(stored)?;
    }
    for (key, url) in &arguments.witness {
        log.put_witness(key, &url.to_string()).map_err(stored)?;
    }
    let read = |(key, url): (String, String)| {
        let (key, url) = (key.parse().ok(), url.parse().ok());
        let address = key.zip(url).map(|(key, url)| WitnessAddress { key, url });
        address.ok_or_else(|| Failure::new("the log's database has an unknown witness"))
    };
    let remembered = log.witnesses().map_err(stored)?;
    remembered.into_iter().map(read).collect()
}

pub async fn witness(arguments: &LogWitness) -> Result<Status, Failure> {
    let store = WitnessStore::open(&arguments.dir).map_err(stored)?;
    let bound = Bound::at(&arguments.at, &arguments.dir)?;
    say!("witness  {}", store.public());
    say!("url      {}", bound.url);
    let options = WitnessOptions {
        clock: clock::wall_time,
        logs: arguments.log.clone(),
        tell: |line| mention!("clew: {line}"),
    };
    bound.serve(witness::router(store, options)).await;
    Ok(Status::Yes)
}

/// A socket with its certificate, and the address that clients pin.
struct Bound {
    server: Server,
    url: ServiceUrl,
}

impl Bound {
    fn at(at: &Listening, dir: &Path) -> Result<Self, Failure> {
        let cannot = |what: &dyn std::fmt::Display| Failure::new(format!("{}: {what}", at.listen));
        let listener = TcpListener::bind(at.listen).map_err(|error| cannot(&error))?;
        let local = listener.local_addr().map_err(|error| cannot(&error))?;
        let address = at.address.clone().unwrap_or_else(|| local.to_string());
        let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host);
        let host = host.trim_matches(['[', ']']).to_owned();
        let certificate = Certificate::of(dir, &[host]).map_err(Failure::new)?;
        let url = ServiceUrl::pinned(&address, certificate.pin());
        let url = url.map_err(|error| Failure::new(format!("--address {address}: {error}")))?;
        let limits = ServerLimits::default();
        let server = Server::new(listener, Some(&certificate), limits);
        let server = server.map_err(|error| cannot(&error))?;
        Ok(Self { server, url })
    }

    /// Serves until a signal comes.
    async fn serve(self, router: Router) {
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        self.server
            .run(router, crate::tunnel::over(Until::after(None)))
            .await;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
    }
}
