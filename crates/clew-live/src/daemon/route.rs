//! Whether a destination is this host's or behind it: what the kernel would do with a packet to it.

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

/// Lengths of the headers of netlink and of routes.
const HEADER: usize = 16;
const ROUTE: usize = 12;

/// Asks for the route itself, with its prefix, and not for a copy made for the destination.
const FIB_MATCH: u32 = 0x2000;

/// Prefixes that are not longer than that, in bits, lead to the rest of the world.
const WORLD_V4: u8 = 1;
const WORLD_V6: u8 = 3;

/// No route leads there.
const NO_ROUTE: Route = Route {
    kind: libc::RTN_UNREACHABLE,
    prefix: 0,
};

/// Where the kernel would send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    /// Local, unicast, or another kind.
    kind: u8,
    /// The length of the prefix that leads there, in bits.
    prefix: u8,
}

/// Returns whether packets to an address end here or, if this host forwards packets, behind it. What only a
/// default route leads to does not, and what lies within a peer's prefix only if the address is this host's own:
/// prefixes may be wider than the networks of peers. If the kernel does not tell, all but peers' addresses do.
pub(super) fn is_here(to: IpAddr, is_of_peer: bool) -> bool {
    let leads = |route| leads_here(route, to, || !is_of_peer && forwards(to));
    lookup(to).map_or(!is_of_peer, leads)
}

fn leads_here(route: Route, to: IpAddr, forwards: impl FnOnce() -> bool) -> bool {
    let world = if to.is_ipv4() { WORLD_V4 } else { WORLD_V6 };
    match route.kind {
        libc::RTN_LOCAL => true,
        libc::RTN_UNICAST => route.prefix > world && forwards(),
        _ => false,
    }
}

fn forwards(to: IpAddr) -> bool {
    let path = match to {
        IpAddr::V4(_) => "/proc/sys/net/ipv4/ip_forward",
        IpAddr::V6(_) => "/proc/sys/net/ipv6/conf/all/forwarding",
    };
    fs::read_to_string(path).is_ok_and(|text| text.trim_end() != "0")
}

/// Asks the kernel. Returns `None` if it does not tell.
fn lookup(to: IpAddr) -> Option<Route> {
    let ask = || -> io::Result<Vec<u8>> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let protocol = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        send(socket.as_raw_fd(), &question(to), MsgFlags::empty())?;
        let mut room = vec![0; 4_096];
        // The kernel answers before `send` returns.
        let length = recv(socket.as_raw_fd(), &mut room, MsgFlags::MSG_DONTWAIT)?;
        room.truncate(length);
        Ok(room)
    };
    ask().ok().and_then(|answer| parse(&answer))
}

fn question(to: IpAddr) -> Vec<u8> {
    let (family, octets) = match to {
        IpAddr::V4(v4) => (libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6, v6.octets().to_vec()),
    };
    let attribute = 4 + octets.len();
    let length = HEADER + ROUTE + attribute;
    let mut out = (length as u32).to_ne_bytes().to_vec();
    out.extend(libc::RTM_GETROUTE.to_ne_bytes());
    out.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // Neither sequence numbers nor ports are needed.
    out.extend([0; 8]);
    let bits = octets.len() as u8 * 8;
    out.extend([family as u8, bits, 0, 0, 0, 0, 0, 0]);
    out.extend(FIB_MATCH.to_ne_bytes());
    out.extend((attribute as u16).to_ne_bytes());
    out.extend(libc::RTA_DST.to_ne_bytes());
    out.extend(octets);
    out
}

fn parse(answer: &[u8]) -> Option<Route> {
    let kind = answer.get(4..6)?.try_into().ok().map(u16::from_ne_bytes)?;
    if i32::from(kind) == libc::NLMSG_ERROR {
        let error = answer.get(HEADER..HEADER + 4)?.try_into().ok();
        let is_none =
            [libc::ENETUNREACH, libc::EHOSTUNREACH].contains(&-error.map(i32::from_ne_bytes)?);
        return is_none.then_some(NO_ROUTE);
    }
    let route = answer.get(HEADER..HEADER + ROUTE)?;
    let is_route = kind == libc::RTM_NEWROUTE;
    is_route.then(|| Route {
        kind: route[7],
        prefix: route[1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_here_and_networks_behind_a_gateway() {
        let [v4, v6]: [IpAddr; 2] = ["10.0.0.1", "fd00::1"].map(|text| text.parse().unwrap());
        let leads =
            |kind, prefix, to, forwards| leads_here(Route { kind, prefix }, to, || forwards);
        assert!(leads(libc::RTN_LOCAL, 32, v4, false));
        assert!(leads(libc::RTN_UNICAST, 24, v4, true));
        assert!(leads(libc::RTN_UNICAST, 64, v6, true));
        assert!(
            !leads(libc::RTN_UNICAST, 24, v4, false),
            "it forwards nothing"
        );
        assert!(!leads(libc::RTN_UNICAST, 0, v4, true), "the default route");
        assert!(!leads(libc::RTN_UNICAST, 3, v6, true), "2000::/3");
        for kind in [
            libc::RTN_BROADCAST,
            libc::RTN_MULTICAST,
            libc::RTN_BLACKHOLE,
        ] {
            assert!(!leads(kind, 32, v4, true));
        }
    }

    #[test]
    fn the_kernel_knows_its_own_addresses() {
        let local = lookup("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(local.kind, libc::RTN_LOCAL);
        let own = "127.0.0.1".parse().unwrap();
        assert!(is_here(own, false));
        assert!(is_here(own, true), "a peer's prefix is wide");
        let multicast = lookup("224.0.0.9".parse().unwrap());
        assert!(multicast.is_none_or(|route| route.kind != libc::RTN_LOCAL));
    }

    #[test]
    fn other_answers_tell_nothing() {
        assert_eq!(parse(&[]), None);
        let mut answer = question("10.0.0.1".parse().unwrap());
        assert_eq!(parse(&answer), None, "no answer");
        answer[4..6].copy_from_slice(&libc::RTM_NEWROUTE.to_ne_bytes());
        (0..HEADER + ROUTE).for_each(|end| assert_eq!(parse(&answer[..end]), None));
        assert_eq!(parse(&answer).unwrap().prefix, 32);
        answer[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        for (error, expected) in [(libc::ENETUNREACH, Some(NO_ROUTE)), (libc::EPERM, None)] {
            answer[HEADER..HEADER + 4].copy_from_slice(&(-error).to_ne_bytes());
            assert_eq!(parse(&answer), expected);
        }
    }
}
