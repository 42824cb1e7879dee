//! What a plan has to know of the host, and what has to be so.

use super::error::in_short;
use super::{Place, Programs, QueueRule, SetupError, programs, ruleset};
use crate::config::{Config, Peer};
use crate::netfilter::try_queue_rule;
use clew_packet::Carrier;
use ipnet::IpNet;
use nix::unistd::User;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Who runs the data plane unless told otherwise.
const USER: &str = "clew";

/// Who runs it where there is no such user.
const NOBODY: &str = "nobody";

/// How the host reaches an address before the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address that it uses itself.
    pub source: Option<IpAddr>,
    /// The interface.
    pub device: String,
}

/// What a plan has to know of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The programs.
    pub programs: Programs,
    /// The id of the user who runs the data plane.
    pub user: u32,
    /// Whether the TUN is made with offloads.
    pub has_offload: bool,
    /// How packets come into the kernel's queue, if the carrier needs one.
    pub queue: QueueRule,
    /// How each prefix is reached, in their order. `None` if it is not.
    pub routes: Vec<Option<Route>>,
    /// Files of reverse path filters that are strict, with what they hold.
    pub strict: Vec<(PathBuf, String)>,
}

/// Returns the user who runs the data plane.
///
/// # Errors
/// There is no such user, or it is root.
pub fn account(config: &Config) -> Result<User, SetupError> {
    let find = |name: &str| User::from_name(name).ok().flatten();
    let wanted = config.user.as_deref();
    let found = match wanted {
        Some(name) => find(name),
        None => find(USER).or_else(|| find(NOBODY)),
    };
    let name = wanted.unwrap_or(USER);
    let user = found.ok_or_else(|| SetupError::NoUser(name.to_owned()))?;
    match user.uid.is_root() {
        true => Err(SetupError::RootUser(name.to_owned())),
        false => Ok(user),
    }
}

impl Facts {
    /// Reads the facts, and checks that nothing is in the way.
    ///
    /// # Errors
    /// Something is, or is missing.
    pub fn read(config: &Config) -> Result<Self, SetupError> {
        let programs = Programs::find()?;
        let user = account(config)?.uid.as_raw();
        let tun = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun");
        tun.map_err(SetupError::NoTun)?;
        nothing_in_the_way(config, &programs)?;
        let queue = queue_rule(config, &programs)?;
        let endpoints = || config.peers.iter().filter_map(|peer| peer.endpoint);
        let wanted = endpoints().map(|endpoint| endpoint.ip());
        let found = routes_to(&programs, wanted, None)?;
        for endpoint in endpoints() {
            let to = found.get(&endpoint.ip());
            to.ok_or(SetupError::NoRoute(endpoint))?;
        }
        let routes = routes(config, &programs, None)?;
        let mut strict = strict(&routes);
        // What another daemon made loose is to stay so until both are down.
        let others = Place::of(&config.name).written_by_others();
        strict.extend(files(&routes).filter_map(|file| {
            let was = others.iter().find(|(path, _)| *path == file)?;
            Some(was.clone())
        }));
        Ok(Self {
            strict,
            programs,
            user,
            queue,
            has_offload: config.offload,
            routes,
        })
    }
}

/// Interfaces, tables and rules that a set-up makes must not be there.
fn nothing_in_the_way(config: &Config, programs: &Programs) -> Result<(), SetupError> {
    let exists = |what: String, key| Err(SetupError::Exists { what, key });
    let ip = |arguments: &[&str]| programs::ask(&programs.ip, arguments);
    let name = &config.interface;
    if ip(&["link", "show", "dev", name]).is_ok() {
        return exists(format!("interface {name}"), "interface");
    }
    let table = config.table.to_string();
    for family in ["-4", "-6"] {
        let routes = ip(&[family, "route", "show", "table", &table]);
        if routes.is_ok_and(|routes| !routes.trim().is_empty()) {
            return exists(format!("routing table {table}"), "table");
        }
        let rules = ip(&[family, "rule", "show"])?;
        let mut preferences = rules.lines().filter_map(|line| line.split(':').next());
        let ours: Vec<String> = (0..3).map(|n| (config.table + n).to_string()).collect();
        if let Some(taken) = preferences.find(|p| ours.iter().any(|our| our == p)) {
            return exists(format!("routing rule {taken}"), "table");
        }
    }
    let table = ruleset::table(config);
    let nft = programs.nft.as_ref();
    let listed = nft.map(|nft| programs::ask(nft, &["list", "table", "inet", &table]));
    match listed {
        Some(Ok(_)) => exists(format!("nftables' table inet {table}"), "name"),
        _ => Ok(()),
    }
}

/// Tries the table of nftables without making it, and a queue if the carrier needs one.
fn queue_rule(config: &Config, programs: &Programs) -> Result<QueueRule, SetupError> {
    let works = |queue| filter_works(config, programs, queue);
    if config.carrier != Carrier::Trailer {
        return works(QueueRule::Nft).map(|()| QueueRule::Nft);
    }
    which_rule(works, || try_queue_rule(config.port))
}

/// Chooses the rule of nftables if the table works with it, or else the older target.
fn which_rule(
    works: impl Fn(QueueRule) -> Result<(), SetupError>,
    by_target: impl FnOnce() -> io::Result<()>,
) -> Result<QueueRule, SetupError> {
    let said = match works(QueueRule::Nft) {
        Ok(()) => return Ok(QueueRule::Nft),
        Err(SetupError::NoFilter(said)) => said,
        Err(other) => return Err(other),
    };
    // What the kernel refuses without a queue is no matter of queues.
    works(QueueRule::Target)?;
    match by_target() {
        Ok(()) => Ok(QueueRule::Target),
        Err(error) => Err(SetupError::NoQueue(format!(
            "nft says {said:?}, and the kernel has no target NFQUEUE ({error})"
        ))),
    }
}

/// Tries the table, if there is to be one.
fn filter_works(config: &Config, programs: &Programs, queue: QueueRule) -> Result<(), SetupError> {
    let nft = match &programs.nft {
        Some(nft) if ruleset::is_wanted(config) => nft,
        None if ruleset::is_needed(config) => return Err(SetupError::NoProgram("nft")),
        _ => return Ok(()),
    };
    let arguments = ["-c", "-f", "-"].map(str::to_owned);
    // Whoever the user is, the kernel takes the rule.
    match programs::feed(nft, &arguments, &ruleset::ruleset(config, 0, queue)) {
        Err(SetupError::Failed { said, .. }) => Err(SetupError::NoFilter(in_short(&said))),
        other => other.map(drop),
    }
}

/// One answer of `ip -json route get`.
#[derive(Deserialize)]
struct Line {
    dst: IpAddr,
    dev: String,
    prefsrc: Option<IpAddr>,
}

/// How addresses are reached, by packets with that mark.
fn routes_to(
    programs: &Programs,
    addresses: impl Iterator<Item = IpAddr>,
    mark: Option<u32>,
) -> Result<BTreeMap<IpAddr, Route>, SetupError> {
    let mark = mark.map_or(String::new(), |mark| format!(" mark {mark}"));
    let mut commands: Vec<String> = addresses
        .map(|address| format!("route get {address}{mark}"))
        .collect();
    commands.sort_unstable();
    commands.dedup();
    if commands.is_empty() {
        return Ok(BTreeMap::new());
    }
    let answers = programs::ask_all(&programs.ip, &commands)?;
    let lines = answers.lines().filter_map(|answer| {
        let lines: Vec<Line> = serde_json::from_str(answer).ok()?;
        lines.into_iter().next()
    });
    let route = |line: Line| {
        let (source, device) = (line.prefsrc, line.dev);
        (line.dst, Route { source, device })
    };
    Ok(lines.map(route).collect())
}

/// Returns how each prefix is reached now beside the set-up, in their order.
///
/// # Errors
/// The system does not tell.
pub fn routes_now(config: &Config) -> Result<Vec<Option<Route>>, SetupError> {
    routes(config, &Programs::find()?, Some(config.table))
}

/// How each prefix is reached, by packets with that mark: by its end point if that lies in it, or else by its
/// first address.
pub(super) fn routes(
    config: &Config,
    programs: &Programs,
    mark: Option<u32>,
) -> Result<Vec<Option<Route>>, SetupError> {
    let of_peer = |peer: &Peer| -> Vec<Vec<IpAddr>> {
        let endpoint = peer.endpoint;
        let all = peer.prefixes.iter().map(|prefix| ends(prefix, endpoint));
        all.collect()
    };
    let ends: Vec<Vec<IpAddr>> = config.peers.iter().flat_map(of_peer).collect();
    let found = routes_to(programs, ends.iter().flatten().copied(), mark)?;
    let first = |ends: &Vec<IpAddr>| ends.iter().find_map(|end| found.get(end)).cloned();
    Ok(ends.iter().map(first).collect())
}

/// The addresses that tell how a prefix is reached, the best first.
fn ends(prefix: &IpNet, endpoint: Option<SocketAddr>) -> Vec<IpAddr> {
    let endpoint = endpoint.map(|endpoint| endpoint.ip());
    let within = endpoint.filter(|ip| prefix.contains(ip));
    let first = prefix.hosts().next().filter(|_| prefix.prefix_len() > 0);
    let of_family = endpoint.filter(|ip| ip.is_ipv4() == prefix.addr().is_ipv4());
    [within, first, of_family].into_iter().flatten().collect()
}

/// The files of the reverse path filters that see packets beside the TUN.
fn files(routes: &[Option<Route>]) -> impl Iterator<Item = PathBuf> {
    let routes = routes.iter().flatten();
    let mut devices: Vec<&str> = routes.map(|route| route.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    devices.into_iter().map(file)
}

fn file(device: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/net/ipv4/conf/{device}/rp_filter"))
}

/// Reverse path filters that would refuse packets beside the TUN, with what they hold.
pub(super) fn strict(routes: &[Option<Route>]) -> Vec<(PathBuf, String)> {
    let value = |path: &PathBuf| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let of_all = value(&file("all")).unwrap_or_default();
    let each = files(routes).filter_map(|path| {
        let own = value(&path).ok()?;
        // The larger of both counts: 1 is strict, 2 loose.
        (own.as_str().max(&of_all) == "1").then_some((path, own))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn no_filter() -> Result<(), SetupError> {
        Err(SetupError::NoFilter("no such expression".into()))
    }

    fn no_target() -> io::Result<()> {
        Err(io::Error::from_raw_os_error(nix::libc::ENOENT))
    }

    #[test]
    fn a_kernel_without_queues_is_said_in_one_sentence() {
        let no_queue = |queue| match queue {
            QueueRule::Nft => no_filter(),
            QueueRule::Target => Ok(()),
        };
        let unasked = || unreachable!("the rule of nftables works");
        assert_eq!(which_rule(|_| Ok(()), unasked).unwrap(), QueueRule::Nft);
        assert_eq!(which_rule(no_queue, || Ok(())).unwrap(), QueueRule::Target);
        let said = which_rule(no_queue, no_target).unwrap_err().to_string();
        assert!(said.starts_with("NFQUEUE: nft says"), "{said}");
        assert!(
            said.contains("no target NFQUEUE") && !said.contains('\n'),
            "{said}"
        );
        let other = |_| Err(SetupError::NoProgram("nft"));
        assert!(matches!(
            which_rule(other, no_target),
            Err(SetupError::NoProgram(_))
        ));
    }

    #[test]
    fn a_table_that_the_kernel_refuses_is_no_missing_queue() {
        for by_target in [no_target, || Ok(())] {
            let said = which_rule(|_| no_filter(), by_target).unwrap_err();
            assert!(matches!(said, SetupError::NoFilter(_)), "{said}");
        }
    }

    /// Whatever the policy: a table that will be made is tried.
    #[test]
    fn a_table_is_tried_if_there_will_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let nft = folder.path().join("nft");
        std::fs::write(&nft, "#!/bin/sh\necho refused >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&nft, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("lan.toml");
        let tried = |keys: &str, nft: Option<PathBuf>| {
            let peer = "[[peer]]\nprefixes = [\"10.0.0.2/32\"]\ngroup = \"g\"\n";
            std::fs::write(&path, format!("key = \"k\"\n{keys}\n{peer}")).unwrap();
            let ip = PathBuf::from("/no/ip");
            filter_works(
                &Config::read(&path).unwrap(),
                &Programs { ip, nft },
                QueueRule::Nft,
            )
        };
        for keys in ["", "inbound = \"enforce\"", "others = \"refuse\""] {
            let said = tried(keys, Some(nft.clone()));
            assert!(matches!(said, Err(SetupError::NoFilter(_))), "{keys}");
        }
        tried("inbound = \"off\"", Some(nft)).unwrap();
        tried("", None).unwrap();
        let missing = tried("outbound = \"require\"", None);
        assert!(matches!(missing, Err(SetupError::NoProgram("nft"))));
    }
}
