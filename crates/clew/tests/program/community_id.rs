use clew::community_id::community_id;
use clew_packet::Flow;
use serde_json::Value;

#[test]
fn community_ids_are_those_of_the_published_baseline() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../community-id.json")).unwrap();
    assert!(cases.len() > 20);
    for case in cases {
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
        let flow = Flow {
            source: case["saddr"].as_str().unwrap().parse().unwrap(),
            destination: case["daddr"].as_str().unwrap().parse().unwrap(),
            protocol,
            source_port: None,
            destination_port: None,
            upper_start,
        };
        assert_eq!(
            community_id(&flow, 0),
            case["communityid"].as_str().unwrap(),
            "{case}"
        );
    }
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
