use crate::folder::Folder;
use crate::log::Log;
use crate::modes::file;
use crate::records::{events, text, told};
use clew::community_id::CommunityId;
use clew_packet::Flow;
use serde_json::Value;
use std::fs;
use std::net::IpAddr;

/// The link type of packets that begin with their IP header.
const RAW_IP: u32 = 101;

#[test]
fn community_ids_are_those_of_the_published_baseline() {
    for (flow, expected) in baseline() {
        assert_eq!(CommunityId::new(&flow, 0).to_string(), expected, "{flow:?}");
    }
}

#[test]
fn every_format_has_the_community_ids_of_the_baseline() {
    let folder = Folder::new();
    let packets: Vec<Vec<u8>> = baseline().iter().map(|(flow, _)| packet(flow)).collect();
    let capture = file(RAW_IP, packets.iter().map(|packet| (0, packet.as_slice())));
    fs::write(folder.path("signed"), capture).unwrap();
    let expected: Vec<Value> = baseline().into_iter().map(|(_, id)| id.into()).collect();
    let ids = |lines: Vec<Value>| lines.into_iter().map(|line| line["community_id"].clone());
    let (_, lines, _) = folder.verify("signed");
    assert_eq!(ids(lines).collect::<Vec<_>>(), expected);
    let eve = events(&text(told(&folder, "eve")));
    assert_eq!(ids(eve).take(expected.len()).collect::<Vec<_>>(), expected);
    let log = Log::parse(&text(told(&folder, "tsv")));
    let log = log
        .rows
        .iter()
        .map(|row| row["community_id"].clone().unwrap());
    assert_eq!(log.collect::<Vec<_>>(), expected);
}

/// Flows with their Community IDs.
fn baseline() -> Vec<(Flow, String)> {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../community-id.json")).unwrap();
    assert!(cases.len() > 20);
    let id = |case: &Value| case["communityid"].as_str().unwrap().to_owned();
    cases.iter().map(|case| (flow(case), id(case))).collect()
}

fn flow(case: &Value) -> Flow {
    let protocol = case["proto"].as_u64().unwrap() as u8;
    let port = |name: &str| case[name].as_u64().map(|port| port as u16);
    let (from, to) = (port("sport"), port("dport"));
    // For ICMP the baseline gives type and code, or the answering type, in place of ports.
    let is_icmp = matches!(protocol, 1 | 58);
    let upper_start = from.zip(to).map(|(from, to)| match is_icmp {
        true => [from as u8, icmp_code(protocol, from, to), 0, 0],
        false => {
            let [a, b] = from.to_be_bytes();
            let [c, d] = to.to_be_bytes();
            [a, b, c, d]
        }
    });
    Flow {
        source: case["saddr"].as_str().unwrap().parse().unwrap(),
        destination: case["daddr"].as_str().unwrap().parse().unwrap(),
        protocol,
        source_port: None,
        destination_port: None,
        upper_start,
    }
}

/// An IP packet of a flow, with nothing else in it.
fn packet(flow: &Flow) -> Vec<u8> {
    let mut upper = [0; 20];
    upper[..4].copy_from_slice(&flow.upper_start.unwrap_or_default());
    let mut packet = match flow.source {
        IpAddr::V4(_) => vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, flow.protocol, 0, 0],
        IpAddr::V6(_) => vec![0x60, 0, 0, 0, 0, 20, flow.protocol, 64],
    };
    for address in [flow.source, flow.destination] {
        match address {
            IpAddr::V4(address) => packet.extend(address.octets()),
            IpAddr::V6(address) => packet.extend(address.octets()),
        }
    }
    packet.extend(upper);
    packet
}

/// The code of an ICMP packet: the second number, unless it is the type that answers the first.
fn icmp_code(protocol: u8, kind: u16, other: u16) -> u8 {
    let v4 = [
        (8, 0),
        (0, 8),
        (13, 14),
        (14, 13),
        (15, 16),
        (16, 15),
        (10, 9),
        (9, 10),
        (17, 18),
        (18, 17),
    ];
    let v6 = [
        (128, 129),
        (129, 128),
        (133, 134),
        (134, 133),
        (135, 136),
        (136, 135),
        (130, 131),
        (131, 130),
        (139, 140),
        (140, 139),
        (144, 145),
        (145, 144),
    ];
    let pairs: &[(u16, u16)] = if protocol == 1 { &v4 } else { &v6 };
    if pairs.contains(&(kind, other)) {
        0
    } else {
        other as u8
    }
}
