//! The picture of a run says what the other formats say.

use crate::captures::{CAPTURES, beginning};
use crate::folder::Folder;
use crate::modes::{file, packets};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

const INVALID: &str = "#D50000";
const VALID: &str = "#009E73";

/// The texts of a picture, and the colours of its rectangles.
fn read(svg: &str) -> (Vec<String>, Vec<String>) {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let named = |name: &'static str| tree.descendants().filter(move |n| n.has_tag_name(name));
    let texts = named("text").filter_map(|n| n.text());
    let colours = named("rect").filter_map(|n| n.attribute("fill"));
    let owned = |text: &str| text.trim().to_owned();
    (texts.map(owned).collect(), colours.map(owned).collect())
}

fn plot(folder: &Folder, capture: &str) -> (Vec<String>, Vec<String>) {
    let verify = ["verify", "--group", "acme/public/group.clew", "--force"];
    folder.status(&[&verify[..], &["--plot", "run.svg", capture]].concat());
    read(&fs::read_to_string(folder.path("run.svg")).unwrap())
}

#[test]
fn a_picture_shows_every_invalid_packet_and_the_flows_they_are_of() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    assert_eq!(folder.sign(&[]), 0);
    let (texts, colours) = plot(&folder, "signed");
    assert!(texts.contains(&"150 valid".to_owned()), "{texts:?}");
    let legend = |colour| colours.iter().filter(|c| *c == colour).count();
    assert_eq!(legend(INVALID), 1, "nothing but the legend");
    assert!(legend(VALID) > 20);

    let signed = packets(&fs::read(folder.path("signed")).unwrap());
    let mut frames: Vec<(u64, Vec<u8>)> = signed
        .iter()
        .map(|record| {
            (
                record.packet().unwrap().time_ns.unwrap(),
                record.data().to_vec(),
            )
        })
        .collect();
    frames[100]
        .1
        .iter_mut()
        .rev()
        .nth(30)
        .into_iter()
        .for_each(|byte| *byte ^= 1);
    let changed = file(
        1,
        frames.iter().map(|(time, frame)| (*time, frame.as_slice())),
    );
    fs::write(folder.path("changed"), changed).unwrap();
    let (texts, colours) = plot(&folder, "changed");
    assert!(texts.contains(&"149 valid".to_owned()) && texts.contains(&"1 invalid".to_owned()));
    let red = colours.iter().filter(|c| *c == INVALID).count();
    assert_eq!(red, 3, "legend, all packets, the flow");

    // The flow with the invalid packet comes first.
    let packet = &folder.verify("changed").1[100];
    let end = |address: &str, port: &str| {
        let address: IpAddr = packet[address].as_str().unwrap().parse().unwrap();
        let port = packet[port].as_u64().unwrap() as u16;
        SocketAddr::new(address, port).to_string()
    };
    let flow = format!("{} > {}", end("src", "src_port"), end("dst", "dst_port"));
    let first = texts.iter().find(|text| text.contains(" > "));
    assert_eq!(first, Some(&flow));
}

#[test]
fn a_picture_goes_where_it_is_sent() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    let verify = ["verify", "--group", "acme/public/group.clew", "in"];
    let with = |more: &[&str]| folder.clew(&[&verify[..], more].concat());
    let output = with(&["--plot", "-"]);
    assert_eq!(output.status.code(), Some(2), "nothing was signed");
    let (texts, _) = read(&String::from_utf8(output.stdout).unwrap());
    assert!(texts.contains(&"in".to_owned()), "the capture's name");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was signed"));

    fs::write(folder.path("precious"), "mine").unwrap();
    for more in [&["--plot", "precious"][..], &["--plot", "x", "-w", "x"]] {
        assert_eq!(with(more).status.code(), Some(2), "{more:?}");
    }
    assert_eq!(fs::read(folder.path("precious")).unwrap(), b"mine");
    assert!(!folder.path("x").exists());
}
