//! `clew up`

use super::probe::{self, Signer, State};
use super::supervise::Planned;
use super::{
    bind_metrics, firewall, need_root, own, plane, plural, port_failed, queue, replace, supervise,
    writable,
};
use crate::cli::{Stage, Up};
use crate::failure::{Failure, Status};
use clew_live::carrier::{Offloads, Udp};
use clew_live::config::Config;
use clew_live::setup::{
    Facts, Kept, Made, Place, Route, SetupError, account, find, plan, refuse_shared_prefixes,
    routes_now,
};
use clew_packet::Carrier;
use nix::unistd::{User, geteuid};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

pub fn up(arguments: &Up) -> Result<Status, Failure> {
    let path = arguments.config.as_path();
    let config = Config::read(path)?;
    match arguments.stage {
        Some(Stage::Probe) => return probe::answer(path, &config),
        Some(Stage::Plane) => return plane::start(path, config),
        Some(Stage::Queue) => return queue::run(&config),
        None if arguments.run_only => return plane::run_only(path, config),
        None => {}
    }
    if !arguments.check {
        need_root("up")?;
    }
    let checked = check(path, &config)?;
    if arguments.check {
        return tell(&config, &checked);
    }
    let place = Place::of(&config.name);
    if arguments.replace {
        return replace::ask(&config, &place);
    }
    if !arguments.receive_only {
        refuse_revoked(&config, &checked.signer)?;
    }
    place.refuse_second()?;
    // What is in the way is noticed before the first file is written.
    let planned = match place.is_set_up() {
        true => None,
        false => {
            // Nobody's packets wait for it. A set-up that is there already goes on without metrics.
            config.metrics.map_or(Ok(()), refuse_metrics)?;
            let planned = plan_for(&config);
            // Another process may have made what is in the way, meanwhile.
            Some(planned.or_else(|failure| {
                place
                    .refuse_second()
                    .map_or_else(|error| Err(error.into()), |()| Err(failure))
            })?)
        }
    };
    let (user, group) = (checked.user.uid, checked.user.gid);
    let made = place.make(user, group)?;
    // The data plane says why it can keep nothing there, once, and that it can again.
    let _ = place.make_state(user, group);
    let planned = match (is_there(&config, &made)?, planned) {
        (true, _) => None,
        // It was undone meanwhile.
        (false, None) => Some(plan_for(&config)?),
        (false, planned) => planned,
    };
    let up = supervise::Supervised {
        path,
        config: &config,
        place: &place,
        planned,
        confirm: arguments.confirm,
    };
    match arguments.setup_only {
        true => {
            let done = up.set_up()?;
            let name = &config.name;
            mention!(
                "{name}: set up; clew up --run-only CONFIG runs it, clew down {name} undoes it"
            );
            Ok(done)
        }
        false => up.run(),
    }
}

/// What was checked before anything changes.
struct Checked {
    user: User,
    signer: Signer,
}

/// Refuses to start for a key that was revoked: packets to peers would go nowhere, whatever the policy.
fn refuse_revoked(config: &Config, signer: &Signer) -> Result<(), Failure> {
    match &signer.state {
        State::Not {
            why,
            remedy,
            is_revoked: true,
        } => Err(Failure::file(&config.key, why)
            .no()
            .hint(format!("{remedy}; to receive only, add --receive-only"))),
        State::Signs(_) | State::Not { .. } => Ok(()),
    }
}

/// Reads everything that can be read. The data plane's user reads keys, and nobody else.
fn check(path: &Path, config: &Config) -> Result<Checked, Failure> {
    let user = account(config)?;
    let signer = probe::ask(path, config, &user)?;
    if let Some(warning) = writable::warning(path, config) {
        mention!("clew: warning: {warning}");
    }
    own::refuse_own(config)?;
    refuse_shared_prefixes(config)?;
    Ok(Checked { user, signer })
}

/// Whether an earlier set-up, which nobody undid, is the one that is wanted.
fn is_there(config: &Config, made: &Made) -> Result<bool, Failure> {
    match &made.left {
        None => Ok(false),
        Some(left) if *left == Kept::default() => Err(SetupError::Left(config.name.clone()).into()),
        Some(left) => {
            left.check(config)?;
            // What it looks like in force is kept last.
            match Place::of(&config.name).force() {
                Some(_) => Ok(true),
                None => Err(SetupError::Left(config.name.clone()).into()),
            }
        }
    }
}

fn plan_for(config: &Config) -> Result<Planned, Failure> {
    let facts = Facts::read(config)?;
    if facts.programs.nft.is_none() {
        mention!("clew: warning: nft: no such program: unsigned packets are not counted");
    }
    let plan = plan(config, &facts);
    Ok(Planned { facts, plan })
}

/// Refuses an address for metrics that cannot be had.
fn refuse_metrics(at: SocketAddr) -> Result<(), Failure> {
    bind_metrics(at).map(drop)
}

/// Tells whether the carrier's port and the address for metrics can be had.
fn tell_ports(config: &Config) -> Result<(), Failure> {
    let port = match config.carrier {
        Carrier::Trailer => Ok(()),
        Carrier::UdpTunnel | Carrier::UdpTransport => tell_port(config),
    };
    let metrics = config.metrics.map_or(Ok(()), |at| {
        let refused = refuse_metrics(at);
        match &refused {
            Ok(()) => say!("metrics        at http://{at}/metrics"),
            Err(failure) => say!("metrics        no: {}", failure.message),
        }
        refused
    });
    port.and(metrics).map_err(Failure::no)
}

fn tell_port(config: &Config) -> Result<(), Failure> {
    let (name, port) = (&config.name, config.port);
    let failure = match Udp::bind(port) {
        Ok(_) => {
            say!("UDP port       {port}");
            return Ok(());
        }
        Err(error) => port_failed(port, &error),
    };
    let unit = format!("clew@{name}.socket");
    if is_active(&unit) {
        say!("UDP port       {port}, which {unit} has");
        return Ok(());
    }
    let why = failure.message.trim_start_matches("UDP port ");
    say!("UDP port       {why}");
    Err(failure)
}

/// Whether the service manager runs a unit. Without one nobody does.
fn is_active(unit: &str) -> bool {
    let asked = find("systemctl").map(|program| {
        let mut command = Command::new(program);
        let command = command.args(["is-active", "--quiet", unit]).env_clear();
        command.stdin(Stdio::null()).stderr(Stdio::null()).status()
    });
    asked.is_some_and(|status| status.is_ok_and(|status| status.success()))
}

/// `clew up --check`
fn tell(config: &Config, checked: &Checked) -> Result<Status, Failure> {
    say!(
        "configuration  {}: {} {}",
        config.name,
        config.peers.len(),
        plural(config.peers.len())
    );
    say!("user           {}", checked.user.name);
    let Signer { machine, state } = &checked.signer;
    match state {
        State::Signs(epoch) => say!("signs as       {machine}, epoch {epoch}"),
        State::Not { why, .. } => say!("signs          nothing: {why}"),
    }
    let clock = super::status::clock_text(clew_live::daemon::clock_status());
    say!("clock          {clock}");
    let mut offloads = Offloads::default();
    let port = Udp::bind(0).map(|udp| udp.offloads(&mut offloads));
    port.map_err(|error| Failure::new(format!("UDP: {error}")))?;
    let has = |has: bool| if has { "yes" } else { "no" };
    say!(
        "UDP GSO, GRO   {}, {}",
        has(offloads.udp_gso),
        has(offloads.udp_gro)
    );
    let place = Place::of(&config.name);
    if place.is_set_up() {
        tell_place(&place)?;
        // A daemon has its port.
        let ports = match place.processes() {
            [None, None] => tell_ports(config),
            _ => Ok(()),
        };
        tell_keepalives(config, &routes_now(config)?);
        return signs(config, state).and_then(|status| ports.map(|()| status));
    }
    let ports = tell_ports(config);
    if !geteuid().is_root() {
        return Err(Failure::new("what would be done is known to root alone").hint("use sudo"));
    }
    let facts = Facts::read(config).map_err(unfit)?;
    let nft = facts.programs.nft.is_some();
    let tun = std::fs::metadata("/dev/net/tun").map(|tun| tun.mode());
    match tun.is_ok_and(|mode| mode & 0o006 == 0o006) {
        true => say!("TUN            yes"),
        false => say!("TUN            yes; --run-only needs chmod 666 /dev/net/tun"),
    }
    say!(
        "nftables       {}",
        if nft {
            "yes"
        } else {
            "no: unsigned packets are not counted"
        }
    );
    let firewall = facts.programs.nft.as_deref();
    if let Some(advice) = firewall.and_then(|nft| firewall::advice(nft, config.port)) {
        say!("firewall       {advice}");
    }
    tell_keepalives(config, &facts.routes);
    say!("would do");
    for line in Place::describe(&plan(config, &facts)) {
        say!("  {line}");
    }
    signs(config, state).and_then(|status| ports.map(|()| status))
}

/// A host on which the configuration cannot work now is a no, as with a port that is taken.
fn unfit(error: SetupError) -> Failure {
    match error {
        SetupError::Exists { .. } | SetupError::NoRoute(_) => Failure::from(error).no(),
        _ => error.into(),
    }
}

fn tell_keepalives(config: &Config, routes: &[Option<Route>]) {
    for line in keepalives(config, routes) {
        say!("keepalive      {line}");
    }
}

/// Tells of a set-up that is there. While a daemon runs, `clew up` refuses, but the files may be read again.
fn tell_place(place: &Place) -> Result<(), Failure> {
    let name = place.name();
    let [supervisor, _] = place.processes();
    match supervisor {
        Some(process) => say!(
            "set up         already, and runs as process {process}: clew status {name}; clew up --replace takes over"
        ),
        None if place.is_set_up_in_part() => {
            say!("set up         in part: clew down {name}");
            return Err(Failure::from(SetupError::Left(name.to_owned())).no());
        }
        None => say!("set up         already: clew status {name}"),
    }
    Ok(())
}

/// Where packets without content come from. The other side has to know the address, or learns nothing from
/// them; its configuration is not here.
fn keepalives(config: &Config, routes: &[Option<Route>]) -> Vec<String> {
    let mut routes = routes.iter();
    let mut lines = Vec::new();
    for peer in &config.peers {
        let mut sources = routes.by_ref().take(peer.prefixes.len()).flatten();
        let source = sources.find_map(|route| route.source);
        sources.for_each(drop);
        let Some(prefix) = peer.prefixes.first().filter(|_| peer.keepalive.is_some()) else {
            continue;
        };
        lines.push(match source {
            Some(source) => {
                format!(
                    "to {prefix} from {source}: needed among that side's prefixes for this host"
                )
            }
            None => format!("to {prefix} none: this host has no address to send from"),
        });
    }
    lines
}

/// The answer of `--check` about the key: no if it signs nothing.
fn signs(config: &Config, state: &State) -> Result<Status, Failure> {
    match state {
        State::Signs(_) => Ok(Status::Yes),
        State::Not { why, remedy, .. } => Err(Failure::file(&config.key, why).no().hint(remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_way_is_a_no() {
        let no_route = SetupError::NoRoute("192.0.2.1:4909".parse().unwrap());
        assert_eq!(unfit(no_route).status, Status::No);
        let no_user = SetupError::NoUser("nobody".into());
        assert_eq!(unfit(no_user).status, Status::CouldNotTell);
    }

    #[test]
    fn whoever_keeps_a_peer_alive_hears_from_which_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        let peer = |prefixes: &str, keepalive: &str| {
            format!("[[peer]]\nprefixes = [{prefixes}]\n{keepalive}group = \"g\"\n")
        };
        let peers = [
            peer("\"10.1.0.0/16\", \"10.2.0.0/16\"", ""),
            peer("\"fd03::/48\", \"10.3.0.0/16\"", "keepalive = 25\n"),
            peer("\"10.4.0.0/16\"", "keepalive = 25\n"),
        ];
        std::fs::write(&path, format!("key = \"k\"\n{}", peers.concat())).unwrap();
        let config = Config::read(&path).unwrap();
        let route = |source: &str| Route {
            source: Some(source.parse().unwrap()),
            device: "eth0".into(),
        };
        let routes = [
            Some("10.0.0.1"),
            Some("10.0.0.2"),
            None,
            Some("10.0.0.3"),
            None,
        ];
        let routes = routes.map(|source| source.map(route));
        let expected = [
            "to fd03::/48 from 10.0.0.3: needed among that side's prefixes for this host",
            "to 10.4.0.0/16 none: this host has no address to send from",
        ];
        assert_eq!(keepalives(&config, &routes), expected);
    }
}
