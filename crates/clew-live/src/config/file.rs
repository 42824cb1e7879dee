//! The file as it is written, and its rules.

mod words;

use super::{
    Config, ConfigError, CoverMode, EXCLUDES_MAX, EmptyPool, Exclude, FILE_MAX, InboundMode,
    OthersMode, OutboundMode, PEERS_MAX, PORT, PREFIXES_MAX, Peer, Rule, Signing, WindowMode,
    carrier,
};
use crate::pool::READY_MAX;
use crate::sender::trailer_max;
use clew_packet::Carrier;
use ipnet::IpNet;
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The smallest MTU that IPv6 works with, and the largest that a TUN takes with a header before it.
const MTU: RangeInclusive<u64> = 1_280..=65_000;

/// From the smallest datagram that every IPv4 host takes.
const PATH_MTU: RangeInclusive<u64> = 576..=65_000;

/// Tables without names of the system, whose rules come before the one for the main table.
const TABLE: RangeInclusive<u64> = 1_000..=32_000;

const BLOCK: RangeInclusive<u64> = 1..=1_024;
/// None on machines that are cloned; at most as many as a pool takes.
const POOL: RangeInclusive<u64> = 0..=READY_MAX as u64;

/// Precursors that are kept ready by default: about a second of 360 Mbit/s.
const POOL_DEFAULT: u64 = 4_096;
const BLOCK_DEFAULT: u64 = 64;
const MTU_DEFAULT: u64 = 1_500;

/// How long an epoch may be accepted after its end, in seconds: up to a day.
const GRACE: RangeInclusive<u64> = 0..=86_400;
const GRACE_DEFAULT: u64 = 60;

/// How often a peer may get a datagram at least, in seconds.
const KEEPALIVE: RangeInclusive<u64> = 1..=65_535;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    name: Option<Spanned<String>>,
    key: PathBuf,
    unlock_with: Option<PathBuf>,
    user: Option<String>,
    #[serde(default)]
    inbound: InboundMode,
    #[serde(default)]
    outbound: OutboundMode,
    #[serde(default)]
    others: OthersMode,
    #[serde(default = "carrier::usual", deserialize_with = "carrier::named")]
    carrier: Carrier,
    port: Option<Spanned<u64>>,
    table: Option<Spanned<u64>>,
    interface: Option<Spanned<String>>,
    mtu: Option<Spanned<u64>>,
    path_mtu: Option<Spanned<u64>>,
    #[serde(default)]
    offload: Offload,
    #[serde(default)]
    whole_windows: bool,
    #[serde(default)]
    sign_ntp: bool,
    grace: Option<Spanned<u64>>,
    #[serde(default)]
    relay: bool,
    #[serde(default)]
    exclude: Vec<Spanned<String>>,
    #[serde(default)]
    signing: RawSigning,
    metrics: Option<Spanned<String>>,
    #[serde(default)]
    peer: Vec<RawPeer>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawSigning {
    #[serde(default)]
    mode: CoverMode,
    block: Option<Spanned<u64>>,
    k: Option<Spanned<WindowMode>>,
    pool: Option<Spanned<u64>>,
    #[serde(default)]
    when_empty: EmptyPool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawPeer {
    prefixes: Spanned<Vec<Spanned<String>>>,
    endpoint: Option<Spanned<String>>,
    keepalive: Option<Spanned<u64>>,
    group: PathBuf,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Offload {
    #[default]
    Auto,
    Off,
}

/// A broken rule, and the bytes where it stands.
type Broken = (Option<Range<usize>>, Rule);

/// Reads and checks the file.
pub(super) fn read(path: &Path) -> Result<Config, ConfigError> {
    let failed = |line, rule| ConfigError {
        path: path.to_owned(),
        line,
        rule,
    };
    let mut text = String::new();
    // Whoever opens a pipe waits for another program.
    if path
        .metadata()
        .is_ok_and(|is| !is.is_file() && !is.is_dir())
    {
        return Err(failed(None, Rule::NotAFile));
    }
    let file = File::open(path).map_err(|e| failed(None, Rule::Read(e)))?;
    file.take(FILE_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|e| failed(None, Rule::Read(e)))?;
    if text.len() as u64 > FILE_MAX {
        return Err(failed(None, Rule::Size));
    }
    parse(&text, path).map_err(|(span, rule)| {
        let line = span.map(|span| line_of(&text, span.start));
        failed(line, rule)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.matches('\n').count() + 1
}

fn parse(text: &str, path: &Path) -> Result<Config, Broken> {
    let raw: Raw =
        toml::from_str(text).map_err(|e| (e.span(), Rule::Toml(words::plain(e.message()))))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = name(raw.name.as_ref(), path)?;
    let port = number("port", raw.port.as_ref(), u64::from(PORT), 1..=65_535)?;
    let table = table(raw.table.as_ref(), raw.port.as_ref(), port)?;
    let port = port as u16;
    let signing = signing(&raw.signing)?;
    let path_mtu = number("path-mtu", raw.path_mtu.as_ref(), MTU_DEFAULT, PATH_MTU)? as u16;
    let mtu = match raw.carrier {
        Carrier::Trailer => trailer_mtu(&raw, &signing, path_mtu)?,
        Carrier::UdpTunnel | Carrier::UdpTransport => {
            number("mtu", raw.mtu.as_ref(), MTU_DEFAULT, MTU)? as u16
        }
    };
    Ok(Config {
        interface: interface(raw.interface.as_ref(), &name)?,
        key: folder.join(raw.key),
        unlock_with: raw.unlock_with.map(|path| folder.join(path)),
        user: raw.user,
        inbound: raw.inbound,
        outbound: raw.outbound,
        others: raw.others,
        carrier: raw.carrier,
        mtu,
        path_mtu,
        offload: matches!(raw.offload, Offload::Auto),
        whole_windows: raw.whole_windows,
        sign_ntp: raw.sign_ntp,
        grace: Duration::from_secs(number("grace", raw.grace.as_ref(), GRACE_DEFAULT, GRACE)?),
        relay: raw.relay,
        exclude: excludes(&raw.exclude)?,
        signing,
        metrics: raw.metrics.as_ref().map(metrics).transpose()?,
        peers: peers(raw.peer, port, folder)?,
        table: table as u32,
        name,
        port,
    })
}

/// The number of the routing table: the port's, unless another one is given.
fn table(
    given: Option<&Spanned<u64>>,
    port_given: Option<&Spanned<u64>>,
    port: u64,
) -> Result<u64, Broken> {
    if given.is_some() || TABLE.contains(&port) {
        return number("table", given, port, TABLE);
    }
    let (least, most) = TABLE.into_inner();
    let rule = Rule::TableOfPort { port, least, most };
    Err((port_given.map(Spanned::span), rule))
}

fn metrics(text: &Spanned<String>) -> Result<SocketAddr, Broken> {
    let broken = |_| (Some(text.span()), Rule::Metrics(text.get_ref().clone()));
    text.get_ref().parse().map_err(broken)
}

/// Returns the MTU with which every packet has room for its trailer, and checks what else this
/// carrier needs.
fn trailer_mtu(raw: &Raw, signing: &Signing, path_mtu: u16) -> Result<u16, Broken> {
    if raw.inbound == InboundMode::Off {
        return Err((None, Rule::TrailersStay));
    }
    let mut endpoints = raw.peer.iter().filter_map(|peer| peer.endpoint.as_ref());
    if let Some(endpoint) = endpoints.next() {
        return Err((Some(endpoint.span()), Rule::EndpointUnused));
    }
    let mut keepalives = raw.peer.iter().filter_map(|peer| peer.keepalive.as_ref());
    if let Some(keepalive) = keepalives.next() {
        return Err((Some(keepalive.span()), Rule::KeepaliveUnused));
    }
    let longest = trailer_max(signing.sender_cover()) as u16;
    let most = path_mtu.saturating_sub(longest);
    let least = *PATH_MTU.start();
    if u64::from(most) < least {
        let rule = Rule::Range {
            key: "path-mtu",
            is: path_mtu.into(),
            least: least + u64::from(longest),
            most: *PATH_MTU.end(),
        };
        return Err((raw.path_mtu.as_ref().map(Spanned::span), rule));
    }
    let range = least..=*MTU.end();
    let mtu = number("mtu", raw.mtu.as_ref(), most.into(), range)? as u16;
    if mtu > most {
        let rule = Rule::NoRoom { is: mtu, most };
        return Err((raw.mtu.as_ref().map(Spanned::span), rule));
    }
    let mut prefixes = raw.peer.iter().flat_map(|peer| peer.prefixes.get_ref());
    let v6 = prefixes.find(|net| net.get_ref().contains(':'));
    match v6.filter(|_| u64::from(mtu) < *MTU.start()) {
        None => Ok(mtu),
        Some(net) => {
            let (is, needed) = (path_mtu, *MTU.start() as u16 + longest);
            Err((Some(net.span()), Rule::TrailerIpv6 { is, needed }))
        }
    }
}

fn number(
    key: &'static str,
    given: Option<&Spanned<u64>>,
    default: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, Broken> {
    let is = given.map_or(default, |given| *given.get_ref());
    if range.contains(&is) {
        return Ok(is);
    }
    let (least, most) = range.into_inner();
    let rule = Rule::Range {
        key,
        is,
        least,
        most,
    };
    Err((given.map(Spanned::span), rule))
}

/// The name that is given, or else the file's without its ending.
fn name(given: Option<&Spanned<String>>, path: &Path) -> Result<String, Broken> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = given.map_or(stem.into_owned(), |given| given.get_ref().clone());
    match is_name(&name) {
        true => Ok(name),
        false => Err((given.map(Spanned::span), Rule::Name(name))),
    }
}

/// Whether a daemon may have this name.
pub fn is_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=10).contains(&name.len()) && name.chars().all(is_fine) && !name.starts_with('-')
}

fn interface(given: Option<&Spanned<String>>, name: &str) -> Result<String, Broken> {
    let Some(given) = given else {
        return Ok(format!("clew-{name}"));
    };
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let interface = given.get_ref();
    let is_name = (1..=15).contains(&interface.len()) && interface.chars().all(is_fine);
    match is_name && !interface.starts_with(['-', '.']) && interface != "all" {
        true => Ok(interface.clone()),
        false => Err((Some(given.span()), Rule::Interface(interface.clone()))),
    }
}

fn signing(raw: &RawSigning) -> Result<Signing, Broken> {
    if let Some(k) = raw.k.as_ref().filter(|_| raw.mode != CoverMode::Window) {
        return Err((Some(k.span()), Rule::KWithoutWindow));
    }
    Ok(Signing {
        k: raw
            .k
            .as_ref()
            .map_or_else(WindowMode::default, |k| *k.get_ref()),
        cover: raw.mode,
        block: number("block", raw.block.as_ref(), BLOCK_DEFAULT, BLOCK)? as u16,
        pool: number("pool", raw.pool.as_ref(), POOL_DEFAULT, POOL)? as usize,
        when_empty: raw.when_empty,
    })
}

fn excludes(raw: &[Spanned<String>]) -> Result<Vec<Exclude>, Broken> {
    if let Some(one_more) = raw.get(EXCLUDES_MAX) {
        return Err((Some(one_more.span()), Rule::Excludes));
    }
    let each = raw.iter().map(|text| {
        let rule = |_| Rule::Exclude(text.get_ref().clone());
        let read = text.get_ref().parse().map_err(rule);
        read.map_err(|rule| (Some(text.span()), rule))
    });
    each.collect()
}

fn peers(raw: Vec<RawPeer>, port: u16, folder: &Path) -> Result<Vec<Peer>, Broken> {
    if raw.is_empty() {
        return Err((None, Rule::NoPeer));
    }
    if let Some(one_more) = raw.get(PEERS_MAX) {
        return Err((Some(one_more.prefixes.span()), Rule::Peers));
    }
    let mut known: Vec<IpNet> = Vec::new();
    let mut peers: Vec<Peer> = Vec::new();
    for peer in raw {
        let prefixes = prefixes(&peer.prefixes, &mut known)?;
        let endpoint = peer.endpoint.as_ref();
        let endpoint = endpoint.map(|text| endpoint_of(text, port)).transpose()?;
        let twice = endpoint.filter(|at| peers.iter().any(|p| p.endpoint == Some(*at)));
        if let Some(twice) = twice {
            let at = peer.endpoint.map(|text| text.span());
            return Err((at, Rule::EndpointTwice(twice)));
        }
        let keepalive = peer.keepalive.as_ref();
        let seconds = keepalive.map(|given| number("keepalive", Some(given), 0, KEEPALIVE));
        peers.push(Peer {
            prefixes,
            endpoint,
            keepalive: seconds.transpose()?.map(Duration::from_secs),
            group: folder.join(peer.group),
        });
    }
    Ok(peers)
}

fn prefixes(
    raw: &Spanned<Vec<Spanned<String>>>,
    known: &mut Vec<IpNet>,
) -> Result<Vec<IpNet>, Broken> {
    let all = raw.get_ref();
    if all.is_empty() {
        return Err((Some(raw.span()), Rule::NoPrefix));
    }
    let first = known.len();
    for prefix in all {
        let broken = |rule| Err((Some(prefix.span()), rule));
        let net = match prefix_of(prefix.get_ref()) {
            Ok(net) => net,
            Err(rule) => return broken(rule),
        };
        let wanted = net.trunc();
        if net != wanted {
            return broken(Rule::HostBits { is: net, wanted });
        }
        if matches!(net, IpNet::V6(net) if net.addr().to_ipv4_mapped().is_some() && net.prefix_len() >= 96)
        {
            return broken(Rule::Mapped(net));
        }
        if !has_hosts(&net) {
            return broken(Rule::NotHosts(net));
        }
        let overlaps = |other: &&IpNet| other.contains(&net) || net.contains(*other);
        if let Some(other) = known.iter().find(overlaps) {
            let (one, other) = (net, *other);
            return broken(Rule::Overlap { one, other });
        }
        if known.len() == PREFIXES_MAX {
            return broken(Rule::Prefixes);
        }
        known.push(net);
    }
    Ok(known[first..].to_vec())
}

fn prefix_of(text: &str) -> Result<IpNet, Rule> {
    text.parse().map_err(|_| match text.parse::<IpAddr>() {
        Ok(ip) => Rule::Address(ip, ip.into()),
        Err(_) => Rule::PrefixText(text.to_owned()),
    })
}

/// Whether hosts can have addresses of this network. A network that has others besides is fine:
/// these are never captured.
fn has_hosts(net: &IpNet) -> bool {
    match net.addr() {
        IpAddr::V4(v4) if net.prefix_len() >= 4 => {
            !v4.is_multicast() && !v4.is_loopback() && !v4.is_link_local()
        }
        IpAddr::V6(v6) if net.prefix_len() >= 8 => {
            !v6.is_multicast() && !v6.is_loopback() && !v6.is_unicast_link_local()
        }
        _ => true,
    }
}

fn endpoint_of(text: &Spanned<String>, port: u16) -> Result<SocketAddr, Broken> {
    let bare = || {
        let ip = text.get_ref().as_str();
        let within = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']'));
        let ip = within.filter(|ip| ip.contains(':')).unwrap_or(ip).parse();
        ip.map(|ip: IpAddr| SocketAddr::new(ip, port))
    };
    let at: SocketAddr = text.get_ref().parse().or_else(|_| bare()).map_err(|_| {
        let rule = Rule::EndpointText(text.get_ref().clone());
        (Some(text.span()), rule)
    })?;
    let ip = at.ip();
    let is_broadcast = ip == IpAddr::V4(std::net::Ipv4Addr::BROADCAST);
    if at.port() == 0 || ip.is_unspecified() || ip.is_multicast() || is_broadcast {
        return Err((Some(text.span()), Rule::Endpoint(at)));
    }
    Ok(at)
}

#[cfg(test)]
mod tests;
