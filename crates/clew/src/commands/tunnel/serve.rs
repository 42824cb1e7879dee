//! `clew tunnel serve`

use crate::cli::{AuthenticatorNames, TunnelServe};
use crate::failure::{Failure, Status};
use crate::tunnel::services::{Bounds, Services, Target};
use crate::tunnel::serving::{self, Begun};
use crate::tunnel::users::Users;
use clew_tunnel::record::Authenticators;

pub fn run(arguments: &TunnelServe) -> Result<Status, Failure> {
    crate::tunnel::run(serve(arguments))
}

async fn serve(arguments: &TunnelServe) -> Result<Status, Failure> {
    let users = Users::new(arguments.users.as_deref(), arguments.anonymous)?;
    let who = match (users.len(), arguments.anonymous) {
        (0, true) => "anybody, without a key".to_owned(),
        (count, false) => format!("users by their keys ({count})"),
        (count, true) => format!("users by their keys ({count}), and anybody without a key"),
    };
    let authenticators = authenticators(arguments.authenticators);
    let configure = |config: &mut clew_tunnel::engine::server::Config| {
        config.authenticators = authenticators;
    };
    let Begun {
        mut server,
        metrics,
        until,
    } = serving::begin(&arguments.serving, configure, None).await?;
    for service in &arguments.service {
        let target = match &service.target {
            Target::Echo => "echo",
            Target::Tcp(address) => address,
        };
        mention!("service {}: {target}", service.name);
    }
    mention!("for {who}");
    for name in &arguments.publish_to {
        tokio::spawn(serving::keep_registered(server.records(), name.clone()));
    }
    let bounds = Bounds {
        connections: arguments.max_connections as usize,
        idle: arguments.idle,
    };
    let mut services = Services::new(&arguments.service, users, bounds, &metrics);
    let stopped = tokio::select! {
        () = services.serve(&mut server) => Err(Failure::new("the sockets were closed")),
        () = crate::tunnel::over(until) => Ok(Status::Yes),
    };
    crate::tunnel::last_words(server.end()).await;
    metrics.tell();
    stopped
}

const fn authenticators(names: AuthenticatorNames) -> Authenticators {
    match names {
        AuthenticatorNames::Bound => Authenticators::BOUND,
        AuthenticatorNames::Box => Authenticators::BOX,
        AuthenticatorNames::Both => Authenticators(Authenticators::BOUND.0 | Authenticators::BOX.0),
    }
}
