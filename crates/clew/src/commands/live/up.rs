//! `clew up`

use super::{
    firewall, material, need_root, own, plane, plural, port_failed, queue, readable, replace,
    supervise,
};
use crate::cli::{Stage, Up};
use crate::failure::{Failure, Status};
use clew_live::carrier::{Offloads, Udp};
use clew_live::config::{CarrierMode, Config};
use clew_live::identity::{Identity, Unready};
use clew_live::setup::{Facts, Kept, Made, Place, Plan, SetupError, account, plan};
use nix::unistd::{User, geteuid};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Longest complaint of a probe that is repeated, in bytes.
const COMPLAINT_MAX: usize = 2_000;

pub fn up(arguments: &Up) -> Result<Status, Failure> {
    let path = arguments.config.as_path();
    let config = Config::read(path)?;
    match arguments.stage {
        Some(Stage::Probe) => return plane::probe(&config),
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
        refuse_revoked(&config, &checked.identity)?;
    }
    place.refuse_second()?;
    // What is in the way is noticed before the first file is written.
    let plan = match place.is_set_up() {
        true => None,
        false => Some(planned(&config)?),
    };
    let (user, group) = (checked.user.uid, checked.user.gid);
    let made = place.make(user, group)?;
    if let Err(error) = place.make_state(user, group) {
        tracing::warn!("{error}: after a restart an older group file would count");
    }
    if !is_there(&config, &made)? && plan.is_none() {
        return Err(SetupError::Left(config.name.clone()).into());
    }
    let up = supervise::Supervised {
        path,
        config: &config,
        place: &place,
        plan,
        confirm: arguments.confirm,
    };
    match arguments.setup_only {
        true => up.set_up(),
        false => up.run(),
    }
}

/// What was checked before anything changes.
struct Checked {
    user: User,
    identity: Identity,
}

/// Refuses to start for a key that was revoked: packets to peers would go nowhere, whatever the policy.
fn refuse_revoked(config: &Config, identity: &Identity) -> Result<(), Failure> {
    match identity.at(crate::clock::now()) {
        Err(trouble @ Unready::Revoked { .. }) => {
            Err(Failure::file(&config.key, &trouble).no().hint(format!(
                "{}; to receive only, add --receive-only",
                remedy(&trouble)
            )))
        }
        _ => Ok(()),
    }
}

/// What helps if a key signs nothing.
fn remedy(trouble: &Unready) -> &'static str {
    match trouble {
        Unready::NotYet { .. } => "timedatectl",
        Unready::Behind { .. } => "clew update --key KEY --group GROUP",
        Unready::NoKey | Unready::Unfit { .. } | Unready::Revoked { .. } => {
            "get a new key with clew join or clew enrol"
        }
    }
}

/// Reads everything that can be read, as root and as the user who will run the data plane.
fn check(path: &Path, config: &Config) -> Result<Checked, Failure> {
    let user = account(config)?;
    if let Some(path) = &config.unlock_with {
        std::fs::metadata(path).map_err(|error| Failure::io(path, &error))?;
    }
    let identity = material::load(config, &plane::memory_of(config)?)?.identity;
    own::refuse_own(config)?;
    if geteuid().is_root() {
        probe(path, config, &user)?;
    }
    Ok(Checked { user, identity })
}

/// Lets a process of that user read all files.
fn probe(path: &Path, config: &Config, user: &User) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot start a process as {}: {error}", user.name));
    let output = Command::new("/proc/self/exe")
        .args(["up", "--stage", "probe"])
        .arg(path)
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw())
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr[..output.stderr.len().min(COMPLAINT_MAX)]);
    let line = said.lines().find_map(|line| line.strip_prefix("clew: "));
    let line = line.unwrap_or("it ended without a word");
    let hint = readable::advice(path, config, user);
    Err(Failure::new(format!("as user {}: {line}", user.name)).hint(hint))
}

/// Whether an earlier set-up, which nobody undid, is the one that is wanted.
fn is_there(config: &Config, made: &Made) -> Result<bool, Failure> {
    match &made.left {
        None => Ok(false),
        Some(left) if *left == Kept::of(config) => Ok(true),
        Some(_) => Err(SetupError::Left(config.name.clone()).into()),
    }
}

fn planned(config: &Config) -> Result<Plan, Failure> {
    let facts = Facts::read(config)?;
    if facts.programs.nft.is_none() {
        mention!("clew: warning: nft: no such program: unsigned packets are not counted");
    }
    Ok(plan(config, &facts))
}

/// Whether the carrier's port can be had.
fn tell_port(config: &Config) {
    if config.carrier == CarrierMode::Trailer {
        return;
    }
    match Udp::bind(config.port) {
        Ok(_) => say!("UDP port       {}", config.port),
        Err(error) => {
            let failure = port_failed(config.port, &error);
            say!("UDP port       no: {}", failure.message);
            say!("               fine if it is clew@{}.socket", config.name);
        }
    }
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
    let identity = &checked.identity;
    let state = identity.at(crate::clock::now());
    match &state {
        Ok(key) => say!(
            "signs as       {}, epoch {}",
            identity.machine(),
            key.number()
        ),
        Err(trouble) => say!("signs          nothing: {trouble}"),
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
        say!("set up         already: clew status {}", config.name);
        return signs(config, state.map(drop));
    }
    tell_port(config);
    if !geteuid().is_root() {
        return Err(Failure::new("what would be done is known to root alone").hint("use sudo"));
    }
    let facts = Facts::read(config)?;
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
    say!("would do");
    for line in Place::describe(&plan(config, &facts)) {
        say!("  {line}");
    }
    signs(config, state.map(drop))
}

/// The answer of `--check`: no if the key signs nothing.
fn signs(config: &Config, state: Result<(), Unready>) -> Result<Status, Failure> {
    match state {
        Ok(()) => Ok(Status::Yes),
        Err(trouble) => Err(Failure::file(&config.key, &trouble)
            .no()
            .hint(remedy(&trouble))),
    }
}
