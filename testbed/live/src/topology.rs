//! Who is where: two sites with a line between them, and who stands beside it.
//!
//! Traffic goes between *inner* addresses, 10.78.1.1 and 10.78.2.1. Carriers talk between *outer* ones,
//! which are of 198.18.0.0/24 on the line.

use crate::bed::Namespace;
use line::{Condition, Device, Line, Report, Threads, Way};
use std::io;
use std::sync::Arc;

/// What lies between the near carrier and the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Nothing: the carriers' hosts are at the ends of the line, and the traffic is theirs.
    Pair,
    /// A router that translates addresses, and lets in only what belongs to a connection from inside.
    Nat,
    /// Nothing, but the traffic is that of a host in a network behind the near carrier.
    Gateway,
}

/// Who stands beside the line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// A host that sees a copy of each packet, on `tap0`.
    pub observer: bool,
    /// One that sees them too, and sends to the far site on `net0` whatever it likes.
    pub attacker: bool,
}

/// A host that sends and receives.
pub struct Endpoint<'a> {
    /// Where its programs run.
    pub namespace: &'a Namespace,
    /// Its inner addresses.
    pub v4: String,
    /// The same of IPv6.
    pub v6: String,
}

/// A running network.
pub struct Topology {
    /// What it is.
    pub shape: Shape,
    /// The line; its first way leads to the far site.
    pub line: Line,
    near: Namespace,
    far: Namespace,
    /// The host behind the near carrier, if there is one.
    behind: Option<Namespace>,
    _router: Option<Namespace>,
    observer: Option<Namespace>,
    attacker: Option<Namespace>,
}

/// The far carrier's outer addresses.
pub const FAR_OUTER: [&str; 2] = ["198.18.0.2", "fd00:18::2"];
/// Those of the other end of the line: the near carrier, or the router before it.
pub const NEAR_OUTER: [&str; 2] = ["198.18.0.1", "fd00:18::1"];
/// The near carrier's if a router translates it. No IPv6: the router has none inside.
pub const NEAR_TRANSLATED: &str = "192.168.77.2";
/// The attacker's own address.
pub const ATTACKER: &str = "198.18.0.9";
/// The inner networks of both sites.
pub const NEAR_INNER: [&str; 2] = ["10.78.1.0/24", "fd78:1::/64"];
/// See [`NEAR_INNER`].
pub const FAR_INNER: [&str; 2] = ["10.78.2.0/24", "fd78:2::/64"];

impl Topology {
    /// Makes namespaces, devices, addresses and routes, and starts the line.
    pub fn make(shape: Shape, beside: Beside, threads: Threads) -> io::Result<Self> {
        let (near, far) = (Namespace::make("near")?, Namespace::make("far")?);
        let router = (shape == Shape::Nat)
            .then(|| Namespace::make("router"))
            .transpose()?;
        let behind = (shape == Shape::Gateway)
            .then(|| Namespace::make("behind"))
            .transpose()?;
        let observer = beside
            .observer
            .then(|| Namespace::make("observer"))
            .transpose()?;
        let attacker = beside
            .attacker
            .then(|| Namespace::make("attacker"))
            .transpose()?;
        let at_line = router.as_ref().unwrap_or(&near);
        let ends = [end(at_line, NEAR_OUTER)?, end(&far, FAR_OUTER)?];
        let line = start(ends, [&observer, &attacker], threads)?;
        match &behind {
            Some(behind) => network_behind(&near, behind)?,
            None => inner(&near, ["10.78.1.1/32", "fd78:1::1/128"])?,
        }
        inner(&far, ["10.78.2.1/32", "fd78:2::1/128"])?;
        if let Some(router) = &router {
            translate(&near, router)?;
        }
        Ok(Self {
            shape,
            line,
            near,
            far,
            behind,
            _router: router,
            observer,
            attacker,
        })
    }

    /// Where the near carrier runs.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// Where the far carrier runs.
    pub fn far(&self) -> &Namespace {
        &self.far
    }

    /// The near host that sends and receives.
    pub fn client(&self) -> Endpoint<'_> {
        Endpoint {
            namespace: self.behind.as_ref().unwrap_or(&self.near),
            v4: "10.78.1.1".into(),
            v6: "fd78:1::1".into(),
        }
    }

    /// The far host that sends and receives.
    pub fn server(&self) -> Endpoint<'_> {
        Endpoint {
            namespace: &self.far,
            v4: "10.78.2.1".into(),
            v6: "fd78:2::1".into(),
        }
    }

    /// Who sees a copy of each packet.
    pub fn observer(&self) -> io::Result<&Namespace> {
        self.observer
            .as_ref()
            .ok_or_else(|| io::Error::other("no observer here"))
    }

    /// Who sends what it likes.
    pub fn attacker(&self) -> io::Result<&Namespace> {
        self.attacker
            .as_ref()
            .ok_or_else(|| io::Error::other("no attacker here"))
    }

    /// Sets the line's condition in both directions. What an attacker sends is neither delayed nor lost.
    pub fn set(&self, condition: Condition) -> io::Result<()> {
        self.line.set(Condition::default())?;
        (0..2).try_for_each(|way| self.line.set_way(way, condition))
    }

    /// What the line did in both directions.
    pub fn report(&self) -> io::Result<Vec<Report>> {
        self.line.report()
    }
}

/// An end of the line with its outer addresses.
fn end(namespace: &Namespace, [v4, v6]: [&str; 2]) -> io::Result<Device> {
    let device = Device::open_in(&namespace.name, "net0", true)?;
    namespace.ip(&format!("address add {v4}/24 dev net0"))?;
    namespace.ip(&format!("address add {v6}/64 dev net0 nodad"))?;
    namespace.ip("link set net0 up")?;
    Ok(device)
}

fn start(
    ends: [Device; 2],
    [observer, attacker]: [&Option<Namespace>; 2],
    threads: Threads,
) -> io::Result<Line> {
    let [near, far] = ends.map(Arc::new);
    let mut listeners = Vec::new();
    for who in [observer, attacker].into_iter().flatten() {
        listeners.push(Arc::new(Device::listener_in(&who.name, "tap0")?));
        who.ip("link set tap0 up")?;
    }
    let way = |name: &str, from: &Arc<Device>, to: &Arc<Device>| Way {
        name: name.into(),
        from: Arc::clone(from),
        to: Arc::clone(to),
        listeners: listeners.clone(),
    };
    let mut ways = vec![way("to far", &near, &far), way("to near", &far, &near)];
    if let Some(attacker) = attacker {
        let device = Device::open_in(&attacker.name, "net0", true)?;
        attacker.ip(&format!("address add {ATTACKER}/24 dev net0"))?;
        attacker.ip("link set net0 up")?;
        ways.push(Way {
            listeners: Vec::new(),
            ..way("attack", &Arc::new(device), &far)
        });
    }
    Line::start(ways, threads)
}

/// Inner addresses of a carrier's own host.
fn inner(namespace: &Namespace, addresses: [&str; 2]) -> io::Result<()> {
    addresses
        .iter()
        .try_for_each(|address| namespace.ip(&format!("address add {address} dev lo")))
}

/// A host behind the near carrier, which forwards for it.
fn network_behind(near: &Namespace, behind: &Namespace) -> io::Result<()> {
    cable(near, behind)?;
    for namespace in [near, behind] {
        namespace.ip("link set lan0 up")?;
    }
    near.ip("address add 10.78.1.254/24 dev lan0")?;
    near.ip("address add fd78:1::fe/64 dev lan0 nodad")?;
    behind.ip("address add 10.78.1.1/24 dev lan0")?;
    behind.ip("address add fd78:1::1/64 dev lan0 nodad")?;
    behind.ip("route add default via 10.78.1.254")?;
    behind.ip("-6 route add default via fd78:1::fe")?;
    near.set("ipv4/ip_forward", "1")?;
    near.set("ipv6/conf/all/forwarding", "1")
}

/// A router before the near carrier, as in a home: masquerade, and a stateful firewall.
fn translate(near: &Namespace, router: &Namespace) -> io::Result<()> {
    cable(router, near)?;
    for namespace in [near, router] {
        namespace.ip("link set lan0 up")?;
    }
    router.ip("address add 192.168.77.1/24 dev lan0")?;
    near.ip(&format!("address add {NEAR_TRANSLATED}/24 dev lan0"))?;
    near.ip("route add 198.18.0.0/24 via 192.168.77.1")?;
    router.set("ipv4/ip_forward", "1")?;
    for rule in [
        "-t nat -A POSTROUTING -o net0 -j MASQUERADE",
        "-P FORWARD DROP",
        "-A FORWARD -m conntrack --ctstate INVALID -j DROP",
        "-A FORWARD -i lan0 -j ACCEPT",
        "-A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
    ] {
        router.run(&format!("iptables {rule}"))?;
    }
    Ok(())
}

fn cable(a: &Namespace, b: &Namespace) -> io::Result<()> {
    a.ip(&format!(
        "link add lan0 type veth peer name lan0 netns {}",
        b.name
    ))
}
