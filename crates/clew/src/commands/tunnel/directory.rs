//! `clew tunnel directory` and `clew tunnel name`

use crate::cli::{Serving, TunnelDirectory, TunnelName};
use crate::failure::{Failure, Status};
use crate::tunnel::names::Names;
use crate::tunnel::registry::{Directory, NameServer, Policy};
use crate::tunnel::serving::{self, Begun};
use clew_tunnel::Reason;
use clew_tunnel_udp::{Registry, Server};

pub fn run(arguments: &TunnelDirectory) -> Result<Status, Failure> {
    crate::tunnel::run(async {
        let mut what = Vec::new();
        let mut directory = match &arguments.records {
            None => Directory::default(),
            Some(folder) => {
                let directory = Directory::open(folder)?;
                let count = directory.len();
                what.push(format!("{count} records in {}", folder.display()));
                directory
            }
        };
        if !arguments.name_server.is_empty() {
            directory = directory.asking(Names::open(&arguments.name_server)?);
            let paths = arguments
                .name_server
                .iter()
                .map(|path| path.display().to_string());
            let paths: Vec<String> = paths.collect();
            what.push(format!("those that {} has", paths.join(" or ")));
        }
        let what = what.join(", and ");
        answer(&arguments.serving, Box::new(directory), false, &what).await
    })
}

pub fn run_name(arguments: &TunnelName) -> Result<Status, Failure> {
    crate::tunnel::run(async {
        let policy = Policy {
            issuers: arguments.trust.clone(),
            pins: arguments.pin.clone(),
        };
        let names = NameServer::open(&arguments.store, policy)?;
        let (count, folder) = (names.len(), arguments.store.display());
        let what = format!("{count} records in {folder}, and those that hosts publish");
        answer(&arguments.serving, Box::new(names), true, &what).await
    })
}

async fn answer(
    serving: &Serving,
    registry: Box<dyn Registry>,
    is_name_service: bool,
    what: &str,
) -> Result<Status, Failure> {
    let configure = |config: &mut clew_tunnel::engine::server::Config| {
        config.is_directory = true;
        config.is_name_service = is_name_service;
    };
    let Begun {
        mut server,
        metrics,
        until,
    } = serving::begin(serving, configure, Some(registry)).await?;
    mention!("{what}");
    let stopped = tokio::select! {
        () = refuse(&mut server) => Err(Failure::new("the sockets were closed")),
        () = crate::tunnel::over(until) => Ok(Status::Yes),
    };
    crate::tunnel::last_words(server.end()).await;
    metrics.tell();
    stopped
}

/// It has no services.
async fn refuse(server: &mut Server) {
    while let Some(incoming) = server.accept().await {
        incoming.refuse(Reason::UnknownService);
    }
}
