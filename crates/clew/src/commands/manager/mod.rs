//! `clew manager`: a group's manager as a service.

mod authors;
mod login;

use crate::cli::{Manager, ManagerServe};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::random;
use clew_manager::{Board, SERVICE_TLS, Store};
use clew_service::board::BoardService;
use clew_service::http::{Certificate, Server, ServerLimits, ServiceUrl};
use clew_service::manager::{Manager as Service, ManagerOptions, ManagerPages, router};
use std::fs::DirBuilder;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;

pub fn run(arguments: &Manager) -> Result<Status, Failure> {
    match arguments {
        Manager::Serve(arguments) => serve(arguments),
        Manager::Login(arguments) => login::login(arguments),
        Manager::Admit(arguments) => authors::admit(arguments),
        Manager::Dismiss(arguments) => authors::dismiss(arguments),
        Manager::Authors(arguments) => authors::list(arguments),
    }
}

fn serve(arguments: &ManagerServe) -> Result<Status, Failure> {
    let dir = &arguments.dir;
    let store = Store::open(dir)?;
    let _lock = Store::lock_service(dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let tls = dir.join(SERVICE_TLS);
    let mut secret = DirBuilder::new();
    let made = secret.recursive(true).mode(0o700).create(&tls);
    made.map_err(|error| Failure::io(&tls, &error))?;
    let names = ["localhost".to_owned(), arguments.listen.ip().to_string()];
    let certificate = Certificate::of(&tls, &names).map_err(Failure::new)?;
    let cannot = |error| Failure::new(format!("cannot listen on {}: {error}", arguments.listen));
    let listener = TcpListener::bind(arguments.listen).map_err(cannot)?;
    let at = listener.local_addr().map_err(cannot)?;
    let options = ManagerOptions {
        epoch_every: arguments.epoch_every,
        clock: clock::now_ns,
        tell: |line| mention!("clew: {line}"),
    };
    crate::tunnel::run(async {
        let server = Server::new(listener, Some(&certificate), ServerLimits::default());
        let server = server.map_err(cannot)?;
        let (manager, thread) = Service::start(store, issuer, options, random::os())?;
        let pages = ManagerPages::new(Store::open(dir)?, manager.clone(), Some(certificate.pin()))?;
        let board = BoardService::start(Board::open(dir)?, clock::now_ns)?;
        let url = ServiceUrl::pinned(&at.to_string(), certificate.pin()).map_err(Failure::new)?;
        say!("manager at {url}");
        let until = crate::tunnel::over(Until::after(None));
        server
            .run(
                router(manager).merge(board.router()).merge(pages.router()),
                until,
            )
            .await;
        // What was answered is on disk; what was not published yet is published now.
        let ended = tokio::task::spawn_blocking(|| thread.join()).await;
        match ended {
            Ok(Ok(())) => Ok(Status::Yes),
            _ => Err(Failure::new("the store's thread ended")),
        }
    })
}
