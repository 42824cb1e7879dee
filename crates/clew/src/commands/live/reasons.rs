//! What the reasons of `clew status` mean, and what to do about them.

use crate::report::explain;
use clew_live::daemon::{DroppedIn, DroppedOut};
use clew_live::receiver::Refused;
use clew_live::sender::Unsent;
use clew_live::status::{PeerStatus, Status};
use clew_packet::{Reason, Verdict};

/// One of the lists of `clew status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Verdicts of packets that came.
    Verdicts,
    /// Other reasons to refuse what came.
    Refused,
    /// Why packets did not leave.
    Unsent,
    /// What else did not leave.
    DroppedOut,
    /// What else came and was not delivered.
    DroppedIn,
}

/// Returns what a reason means and what to do with that carrier, in one line. `None` if the packets were good, or
/// another version of the program counts reasons that this one does not know.
pub(super) fn sentence(list: List, name: &str, carrier: &str) -> Option<String> {
    let meaning = match list {
        List::Verdicts => Reason::ALL
            .into_iter()
            .find(|reason| reason.as_str() == name && live(*reason) != Verdict::Valid)
            .map(meaning)?
            .to_owned(),
        List::Refused => of(Refused::ALL.map(|r| (r.as_str(), r.about())), name)?,
        List::Unsent => of(Unsent::ALL.map(|r| (r.as_str(), r.about())), name)?,
        List::DroppedOut => of(DroppedOut::ALL.map(|r| (r.as_str(), r.about())), name)?,
        List::DroppedIn => of(DroppedIn::ALL.map(|r| (r.as_str(), r.about())), name)?,
    };
    Some(match advice(list, name, carrier) {
        Some(advice) => format!("{meaning}; {advice}"),
        None => meaning,
    })
}

/// Some words for captures do not fit live packets.
fn meaning(reason: Reason) -> &'static str {
    match reason {
        Reason::MissingFragment => "other fragments of the packet did not come",
        Reason::Truncated => "the packet is not whole",
        Reason::ZeroLength => "IP length 0",
        Reason::UnknownGroup => "signed for a group that no `group` names",
        other => explain(other),
    }
}

fn live(reason: Reason) -> Verdict {
    reason.verdict(clew_packet::Replay::Refuse)
}

/// The first letter small and no full stop, as in all messages.
fn of<const N: usize>(all: [(&str, &str); N], name: &str) -> Option<String> {
    let (_, about) = all.into_iter().find(|(known, _)| *known == name)?;
    let about = about.trim_end_matches('.');
    let first = about.get(..1)?.to_lowercase();
    Some(format!("{first}{}", about.get(1..)?))
}

/// Why nothing valid may have come from a peer. A datagram of another carrier is not seen at all.
pub(super) fn silence(peer: &PeerStatus, status: &Status) -> String {
    let inn = &status.inbound;
    let (nothing, carrier) = ("nothing valid came from it", &status.carrier);
    if inn.datagrams > 0 && inn.packets == 0 {
        return format!("{nothing}: the reasons are listed below");
    }
    if carrier == "trailer" {
        return format!(
            "{nothing}: has it sent anything, and is clew up there with carrier = \"{carrier}\"?"
        );
    }
    let (address, port) = match peer.endpoint {
        Some(at) => (format!(", is {at} its address"), format!(" {}", at.port())),
        None => (", with this host as its endpoint".to_owned(), String::new()),
    };
    format!(
        "{nothing}: has it sent anything, is clew up there with carrier = \"{carrier}\"{address}, \
         and do both firewalls accept UDP port{port}?"
    )
}

/// What an administrator can do. `None` if nothing helps, or nothing is wrong.
fn advice(list: List, name: &str, carrier: &str) -> Option<&'static str> {
    Some(match (list, name) {
        (List::Verdicts, "unknown-epoch") => "put the newest file of the peer's group here",
        (List::Verdicts, "epoch-over") => "run clew update on the peer",
        (List::Verdicts, "unknown-group") => "compare the group files of both hosts",
        (List::Verdicts, "future") => "check the clocks of both hosts",
        (List::Verdicts, "stale") => {
            "usual in the second of a start; later check the clocks of both hosts"
        }
        (List::Verdicts, "bad-signature" | "bad-code") => {
            "something on the path changes packets, or somebody forges them"
        }
        (List::Verdicts, "missing-fragment" | "too-few-shares") => {
            "the path loses packets: send less if a line is overloaded; if no long one passes, set a smaller \
             `path-mtu`"
        }
        (List::Verdicts, "unknown-version" | "unknown-carrier" | "unknown-mode") => {
            "run the same version of clew on both hosts"
        }
        (List::Refused, "off") => "set `inbound` to accept the peer's packets",
        (List::Refused, "not-peer") => {
            "correct the peer's `group` or `endpoint`, or add the address to its `prefixes`"
        }
        (List::Refused, "no-cookie" | "busy" | "hold-full" | "no-verdict") => {
            "a flood, or too little processor time"
        }
        (List::Unsent, "no-path") => "set `endpoint`, or wait for the peer's first packet",
        (List::Unsent, "no-key") => "see `signs`; then run clew update",
        (List::Unsent, "pool-empty") => "raise `pool`, or set `when-empty` to sign-online",
        (List::Unsent, "queue-full" | "too-late") => "this host signs less than it is to send",
        (List::Unsent, "no-room") if carrier == "trailer" => {
            "long packets and those in IP fragments need `carrier` udp-tunnel, or a larger `path-mtu`"
        }
        (List::Unsent, "no-room") => "raise `path-mtu`, or lower `mtu`",
        (List::DroppedOut, "send-busy" | "send-failed" | "cookie-unsent") => {
            "look at the interface that leads to the peer"
        }
        (List::DroppedIn, "socket-full") => {
            "wrong checksums of all sockets are in `nstat -az UdpInCsumErrors Udp6InCsumErrors`"
        }
        (List::DroppedIn, "nfqueue-full" | "nfqueue-buffer" | "copy-full") => {
            "more came than this host verifies"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const UDP: &str = "udp-tunnel";

    const PAGE: &str = include_str!("../../../../../docs/book/src/live.md");

    const LISTS: [(List, &str); 5] = [
        (List::Verdicts, "verdict"),
        (List::Refused, "refused"),
        (List::Unsent, "unsent"),
        (List::DroppedOut, "dropped, out"),
        (List::DroppedIn, "dropped, in"),
    ];

    fn names(list: List) -> Vec<&'static str> {
        match list {
            List::Verdicts => Reason::ALL.map(Reason::as_str).to_vec(),
            List::Refused => Refused::ALL.map(Refused::as_str).to_vec(),
            List::Unsent => Unsent::ALL.map(Unsent::as_str).to_vec(),
            List::DroppedOut => DroppedOut::ALL.map(DroppedOut::as_str).to_vec(),
            List::DroppedIn => DroppedIn::ALL.map(DroppedIn::as_str).to_vec(),
        }
    }

    #[test]
    fn every_reason_but_the_good_ones_has_a_sentence() {
        for (list, _) in LISTS {
            for name in names(list) {
                let is_good =
                    list == List::Verdicts && ["ok", "vouched", "reordered"].contains(&name);
                let sentence = sentence(list, name, UDP);
                assert_eq!(sentence.is_none(), is_good, "{name}");
                let sentence = sentence.unwrap_or_default();
                assert!(
                    !sentence.contains('\n') && !sentence.ends_with('.'),
                    "{sentence}"
                );
            }
            assert_eq!(sentence(list, "no-such-reason", UDP), None);
        }
    }

    #[test]
    fn a_name_stands_in_one_list_and_means_one_thing() {
        let mut known = BTreeSet::new();
        for name in LISTS.into_iter().flat_map(|(list, _)| names(list)) {
            assert!(known.insert(name), "{name} means two things");
        }
        let queue_full = sentence(List::Unsent, "queue-full", UDP).unwrap();
        assert!(queue_full.starts_with("too many bytes waited; "));
        assert_eq!(sentence(List::DroppedIn, "queue-full", UDP), None);
        let epoch = sentence(List::Verdicts, "unknown-epoch", UDP).unwrap();
        assert_eq!(
            epoch,
            "epoch is not in the group file; put the newest file of the peer's group here"
        );
    }

    /// Another group's file is as likely as a forgotten address. Status and page say so.
    #[test]
    fn who_is_no_peer_may_have_another_group() {
        let said = sentence(List::Refused, "not-peer", UDP).unwrap();
        let mut rows = PAGE.lines();
        let row = rows.find(|row| row.starts_with("| refused | `not-peer`"));
        for text in [&said, row.unwrap()] {
            for key in ["`group`", "`endpoint`", "`prefixes`"] {
                assert!(text.contains(key), "{key}: {text}");
            }
        }
    }

    /// With trailers the interface takes nothing that has no room, but for packets in IP fragments.
    #[test]
    fn no_room_is_cured_by_another_carrier() {
        let said = sentence(List::Unsent, "no-room", UDP).unwrap();
        assert!(
            said.ends_with("; raise `path-mtu`, or lower `mtu`"),
            "{said}"
        );
        let said = sentence(List::Unsent, "no-room", "trailer").unwrap();
        assert!(
            said.contains("udp-tunnel") && !said.contains("`mtu`"),
            "{said}"
        );
    }

    /// The kernel has one counter for both.
    #[test]
    fn a_socket_that_drops_may_have_had_room() {
        let said = sentence(List::DroppedIn, "socket-full", UDP).unwrap();
        let mut rows = PAGE.lines();
        let row = rows.find(|row| row.starts_with("| dropped, in | `socket-full` |"));
        for text in [&said, row.unwrap()] {
            for word in ["more came", "checksums", "UdpInCsumErrors"] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
    }

    /// An overloaded line loses fragments, too, and no `path-mtu` helps.
    #[test]
    fn lost_fragments_have_two_causes() {
        let said = sentence(List::Verdicts, "missing-fragment", UDP).unwrap();
        assert!(
            said.contains("overloaded") && said.contains("`path-mtu`"),
            "{said}"
        );
        let line = PAGE.split("### Narrow lines\n").nth(1).unwrap();
        assert!(line.contains("tc qdisc replace dev clew-lan root tbf"));
    }

    /// The table of the page has each reason of each list once, and no other.
    #[test]
    fn the_page_has_every_reason() {
        let table = PAGE.split("## The reasons of refusals\n").nth(1).unwrap();
        let table = table.split("\n## ").next().unwrap();
        for (list, word) in LISTS {
            let mut found = Vec::new();
            let rows = table.lines().filter(|line| line.starts_with("| "));
            for row in rows {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                if cells[1] == word {
                    found.extend(cells[2].split('`').skip(1).step_by(2));
                }
            }
            let wanted: BTreeSet<&str> = names(list).into_iter().collect();
            assert_eq!(
                found.iter().copied().collect::<BTreeSet<_>>(),
                wanted,
                "{word}"
            );
            assert_eq!(found.len(), wanted.len(), "{word}: one is there twice");
        }
    }

    #[test]
    fn a_silent_peer_is_explained() {
        let mut peer = PeerStatus {
            prefixes: vec!["10.0.0.2/32".into()],
            endpoint: Some("10.0.0.2:7".parse().unwrap()),
            is_learned: false,
            path_mtu: 1500,
            packets: 0,
            seconds_ago: None,
        };
        let mut status = Status {
            carrier: "udp-tunnel".into(),
            ..Status::default()
        };
        let said = silence(&peer, &status);
        let wanted = "nothing valid came from it: has it sent anything, is clew up there with \
                      carrier = \"udp-tunnel\", is 10.0.0.2:7 its address, and do both firewalls \
                      accept UDP port 7?";
        assert_eq!(said, wanted);
        status.inbound.datagrams = 3;
        let said = silence(&peer, &status);
        assert!(said.ends_with("the reasons are listed below"), "{said}");
        status.inbound.packets = 3;
        assert_eq!(silence(&peer, &status), wanted);
        peer.endpoint = None;
        let said = silence(&peer, &status);
        assert!(said.contains("with this host as its endpoint"), "{said}");
        status.carrier = "trailer".into();
        let said = silence(&peer, &status);
        assert!(said.ends_with("with carrier = \"trailer\"?"), "{said}");
    }
}
