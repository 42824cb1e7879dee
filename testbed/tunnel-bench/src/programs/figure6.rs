//! The paper's Figure 6: a and b, the gain over TCP and over TLS of full and abbreviated connections; c and
//! d, the times themselves. Its pictures are not in our copy: the rings are the figures of its text.

use super::latency::{At, fraction};
use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use std::io;

/// Systems by their colours; those that did not run are left out. Those of one colour share no panel.
const COLOURS: [&[&str]; 8] = [
    &["udp"],
    &["tcp"],
    &["tls"],
    &["quinn"],
    &["s2n-quic"],
    &["clew", "clew-prepared"],
    &["tls-mutual", "tls-resumed"],
    &["quinn-0rtt"],
];

/// A panel's systems, and the one of TLS that their gain is over.
struct Kind {
    title: &'static str,
    systems: &'static [&'static str],
    tls: &'static str,
    paper: [Paper; 2],
}

/// What the paper's text has at one delay, in milliseconds.
struct Paper {
    delay: f64,
    minimalt: f64,
    tcp: f64,
    openssl: f64,
}

const FULL: Kind = Kind {
    title: "full connections",
    systems: &[
        "udp",
        "tcp",
        "tls",
        "tls-mutual",
        "quinn",
        "s2n-quic",
        "clew",
    ],
    tls: "tls",
    paper: [
        Paper {
            delay: 0.0625,
            minimalt: 1.32,
            tcp: 0.68,
            openssl: 7.63,
        },
        Paper {
            delay: 256.0,
            minimalt: 530.0,
            tcp: 1000.0,
            openssl: 2130.0,
        },
    ],
};

/// A row of clew's for these (a connection on a tunnel that is open) belongs here by its own name.
const ABBREVIATED: Kind = Kind {
    title: "abbreviated connections",
    systems: &["udp", "tcp", "tls-resumed", "quinn-0rtt", "clew-prepared"],
    tls: "tls-resumed",
    paper: [
        Paper {
            delay: 0.0625,
            minimalt: 1.03,
            tcp: 0.68,
            openssl: 1.67,
        },
        Paper {
            delay: 256.0,
            minimalt: 520.0,
            tcp: 1000.0,
            openssl: 1600.0,
        },
    ],
};

/// For the foot of the table.
pub const NOTES: [&str; 4] = [
    "paper, Figure 6 (2013, two machines, LAN of 1/13 ms one way, client certificates): full connections at +1/16 MinimaLT 1.32 ms,",
    "  TCP 0.68, OpenSSL 7.63; at +256: 530, 1000, 2130. Abbreviated at +1/16: MinimaLT 1.03, OpenSSL 1.67; at +256: 520, 1600.",
    "  So MinimaLT's gain over TCP is 0.52 at +1/16 and 1.9 at +256 (faster from before +1/2 on), over OpenSSL 5.8 and 4.0;",
    "  abbreviated 0.66 and 1.9 (faster from +1/4 on), over OpenSSL 1.6 and 3.1.",
];

/// Writes the two pictures.
pub fn save(options: &Options, all: &[At]) -> io::Result<()> {
    let places = places(all);
    let labels: Vec<_> = places.iter().map(|delay| fraction(*delay)).collect();
    let x = "milliseconds that the line adds each way";
    let gains = Plot {
        title: "Figure 6 a, b: gain over TCP and over TLS".into(),
        note: "Above 1 is faster. Lines: over TCP; dashed: over TLS 1.3 (rustls). \
               Rings: the paper's MinimaLT over TCP and over OpenSSL."
            .into(),
        x: x.into(),
        y: "times as fast".into(),
        places: labels.clone(),
        panels: [("a", &FULL), ("b", &ABBREVIATED)]
            .map(|(letter, kind)| gain(letter, kind, all, &places))
            .into(),
    };
    gains.save(options, "figure-6ab")?;
    let times = Plot {
        title: "Figure 6 c, d: time of a connection with request and answer".into(),
        note: "Medians. Rings: the paper's figures (2013, LAN of 1/13 ms one way, certificates of \
               users, too)."
            .into(),
        x: x.into(),
        y: "ms".into(),
        places: labels,
        panels: [("c", &FULL), ("d", &ABBREVIATED)]
            .map(|(letter, kind)| time(letter, kind, all, &places))
            .into(),
    };
    times.save(options, "figure-6cd")
}

/// The delays of this run and of the paper's text.
fn places(all: &[At]) -> Vec<f64> {
    let mut places: Vec<f64> = all.iter().map(|at| at.delay).collect();
    places.extend(FULL.paper.iter().map(|paper| paper.delay));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

fn time(letter: &str, kind: &Kind, all: &[At], places: &[f64]) -> Panel {
    let mut lines: Vec<Line> = kind
        .systems
        .iter()
        .filter_map(|name| {
            line((*name).to_owned(), name, Look::Solid, all, places, |at| {
                median(at, name)
            })
        })
        .collect();
    lines.push(rings("paper: MinimaLT", 5, kind, places, |paper| {
        paper.minimalt
    }));
    lines.push(rings("paper: TCP", 1, kind, places, |paper| paper.tcp));
    lines.push(rings("paper: OpenSSL", 2, kind, places, |paper| {
        paper.openssl
    }));
    Panel {
        title: format!("{letter}: {}", kind.title),
        lines,
    }
}

fn gain(letter: &str, kind: &Kind, all: &[At], places: &[f64]) -> Panel {
    let mut lines = Vec::new();
    for name in kind
        .systems
        .iter()
        .filter(|name| !matches!(**name, "tcp" | "tls-mutual") && **name != kind.tls)
    {
        for (over, look) in [("tcp", Look::Solid), (kind.tls, Look::Dashed)] {
            let ratio = |at: &At| Some(median(at, over)? / median(at, name)?);
            lines.extend(line(
                format!("{name} over {over}"),
                name,
                look,
                all,
                places,
                ratio,
            ));
        }
    }
    lines.push(rings("paper: over TCP", 5, kind, places, |paper| {
        paper.tcp / paper.minimalt
    }));
    lines.push(rings("paper: over OpenSSL", 2, kind, places, |paper| {
        paper.openssl / paper.minimalt
    }));
    Panel {
        title: format!("{letter}: {}", kind.title),
        lines,
    }
}

fn median(at: &At, name: &str) -> Option<f64> {
    at.samples
        .iter()
        .find(|samples| samples.name == name)?
        .median(0)
}

fn line(
    label: String,
    system: &str,
    look: Look,
    all: &[At],
    places: &[f64],
    figure: impl Fn(&At) -> Option<f64>,
) -> Option<Line> {
    let points = all
        .iter()
        .filter_map(|at| Some((place(places, at.delay)?, figure(at)?)));
    let points: Vec<_> = points.collect();
    (!points.is_empty()).then(|| Line {
        name: label,
        colour: COLOURS
            .iter()
            .position(|names| names.contains(&system))
            .unwrap_or(0),
        look,
        points,
    })
}

fn rings(
    name: &str,
    colour: usize,
    kind: &Kind,
    places: &[f64],
    figure: impl Fn(&Paper) -> f64,
) -> Line {
    let points = kind
        .paper
        .iter()
        .filter_map(|paper| Some((place(places, paper.delay)?, figure(paper))));
    Line {
        name: name.into(),
        colour,
        look: Look::Rings,
        points: points.collect(),
    }
}

fn place(places: &[f64], delay: f64) -> Option<usize> {
    places.iter().position(|place| *place == delay)
}
