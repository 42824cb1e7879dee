//! Whether a destination is this host's or behind it: what the kernel would do with a packet to it.

use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc;
use nix::sys::socket::{
    AddressFamily as Family, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

/// Prefixes that are not longer than that, in bits, lead to the rest of the world.
const WORLD_V4: u8 = 1;
const WORLD_V6: u8 = 3;

/// No route leads there.
const NO_ROUTE: Route = Route {
    kind: RouteType::Unreachable,
    prefix: 0,
};

/// Where the kernel would send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    /// Local, unicast, or another kind.
    kind: RouteType,
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
        RouteType::Local => true,
        RouteType::Unicast => route.prefix > world && forwards(),
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
        let socket = socket(Family::Netlink, SockType::Raw, flags, protocol)?;
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
    let (family, bits) = match to {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    let mut route = RouteMessage::default();
    route.header = RouteHeader {
        address_family: family,
        destination_prefix_length: bits,
        // The route itself, with its prefix, and not a copy made for the destination.
        flags: RouteFlags::FibMatch,
        ..RouteHeader::default()
    };
    route.attributes = vec![RouteAttribute::Destination(RouteAddress::from(to))];
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::GetRoute(route));
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut out = vec![0; message.buffer_len()];
    message.serialize(&mut out);
    out
}

fn parse(answer: &[u8]) -> Option<Route> {
    match NetlinkMessage::deserialize(answer).ok()?.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => Some(Route {
            kind: route.header.kind,
            prefix: route.header.destination_prefix_length,
        }),
        NetlinkPayload::Error(error) => [libc::ENETUNREACH, libc::EHOSTUNREACH]
            .contains(&-error.raw_code())
            .then_some(NO_ROUTE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_here_and_networks_behind_a_gateway() {
        let [v4, v6]: [IpAddr; 2] = ["10.0.0.1", "fd00::1"].map(|text| text.parse().unwrap());
        let leads =
            |kind, prefix, to, forwards| leads_here(Route { kind, prefix }, to, || forwards);
        assert!(leads(RouteType::Local, 32, v4, false));
        assert!(leads(RouteType::Unicast, 24, v4, true));
        assert!(leads(RouteType::Unicast, 64, v6, true));
        assert!(
            !leads(RouteType::Unicast, 24, v4, false),
            "it forwards nothing"
        );
        assert!(!leads(RouteType::Unicast, 0, v4, true), "the default route");
        assert!(!leads(RouteType::Unicast, 3, v6, true), "2000::/3");
        for kind in [
            RouteType::Broadcast,
            RouteType::Multicast,
            RouteType::BlackHole,
        ] {
            assert!(!leads(kind, 32, v4, true));
        }
    }

    #[test]
    fn the_kernel_knows_its_own_addresses() {
        let local = lookup("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!(local.kind, RouteType::Local);
        let own = "127.0.0.1".parse().unwrap();
        assert!(is_here(own, false));
        assert!(is_here(own, true), "a peer's prefix is wide");
        let multicast = lookup("224.0.0.9".parse().unwrap());
        assert!(multicast.is_none_or(|route| route.kind != RouteType::Local));
    }

    #[test]
    fn other_answers_tell_nothing() {
        assert_eq!(parse(&[]), None);
        let mut answer = question("10.0.0.1".parse().unwrap());
        assert_eq!(parse(&answer), None, "no answer");
        answer[4..6].copy_from_slice(&libc::RTM_NEWROUTE.to_ne_bytes());
        assert_eq!(parse(&answer).unwrap().prefix, 32);
        let whole = answer.len();
        (0..whole).for_each(|end| assert_eq!(parse(&answer[..end]), None));
        answer[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        for (error, expected) in [(libc::ENETUNREACH, Some(NO_ROUTE)), (libc::EPERM, None)] {
            answer[16..20].copy_from_slice(&(-error).to_ne_bytes());
            assert_eq!(parse(&answer), expected);
        }
    }
}
