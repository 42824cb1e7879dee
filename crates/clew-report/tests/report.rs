//! A report in both forms, as other programs read them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../clew/tests/common/skipped.rs"]
mod skipped;

use clew_report::{Block, Column, Fact, PdfError, Report, TEXT_MAX, Table, Time, html, pdf};
use std::process::Command;

fn report() -> Report {
    let fact = |name: &str, value: &str, is_code| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
        is_code,
    };
    let column = |name: &str, is_code| Column {
        name: name.to_owned(),
        is_code,
    };
    let row = |n: u32| {
        vec![
            format!("{n}"),
            format!("packet of {n} bytes"),
            "f".repeat(64),
        ]
    };
    Report {
        title: "Opening of packet 6: <web-1> & others".to_owned(),
        time: Time {
            year: 2026,
            month: 11,
            day: 23,
            hour: 19,
            minute: 5,
            second: 7,
        },
        blocks: vec![
            Block::Text("The machine \u{201c}web-1\u{201d} signed this packet. ".repeat(8)),
            Block::Heading("Facts".to_owned()),
            Block::Facts(vec![
                fact(
                    "Machine",
                    "web-1 \u{43c}\u{430}\u{448}\u{438}\u{43d}\u{430} \u{4e2d}",
                    false,
                ),
                fact("Hidden", "a\u{202e}b", false),
                fact(
                    "SHA-256 of the group file",
                    &"0123456789abcdef".repeat(4),
                    true,
                ),
            ]),
            Block::Heading("How to check".to_owned()),
            Block::Steps(vec![
                "Unpack the file.".to_owned(),
                "Run clew judge. ".repeat(20),
            ]),
            Block::Code("clew judge bundle.zip\n  exit status 0".to_owned()),
            Block::Table(Table {
                caption: "Packets".to_owned(),
                columns: vec![
                    column("frame", false),
                    column("what", false),
                    column("digest", true),
                ],
                rows: (0..120).map(row).collect(),
            }),
        ],
    }
}

/// What `pdftotext` of poppler reads, if it is there.
fn read_by_poppler(pdf: &[u8]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.pdf");
    std::fs::write(&path, pdf).unwrap();
    let read = Command::new("pdftotext")
        .arg("-layout")
        .arg(&path)
        .arg("-")
        .output()
        .ok()?;
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    Some(String::from_utf8(read.stdout).unwrap())
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let report = report();
    assert_eq!(html(&report), html(&report));
    let first = pdf(&report).unwrap();
    assert_eq!(first, pdf(&report).unwrap());
    let mut other = report;
    other.time.second += 1;
    assert_ne!(first, pdf(&other).unwrap());
}

#[test]
fn html_is_escaped_and_loads_nothing() {
    let page = html(&report());
    assert!(
        page.contains("<h1>Opening of packet 6: &lt;web-1&gt; &amp; others</h1>"),
        "{page:.600}"
    );
    assert!(page.contains("<dd>a[U+202E]b</dd>"));
    assert!(page.contains("<th scope=\"col\">frame</th>"));
    assert!(page.contains("<pre><code>clew judge bundle.zip\n  exit status 0</code></pre>"));
    assert!(
        !page.contains("http")
            || page.matches("http").count() == page.matches("http-equiv").count()
    );
    assert!(!page.contains("<script") && !page.contains("src="));
}

#[test]
fn a_pdf_is_tagged_and_says_what_it_is() {
    let pdf = pdf(&report()).unwrap();
    let has = |text: &str| pdf.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        has("<pdfaid:part>2</pdfaid:part>") && has("<pdfaid:conformance>A</pdfaid:conformance>")
    );
    assert!(has("/MarkInfo") && has("/StructTreeRoot") && has("/Lang"));
    for tag in [
        "/H1", "/H2", "/P", "/L", "/LI", "/Lbl", "/LBody", "/Table", "/TH", "/TD", "/Code",
    ] {
        assert!(has(tag), "{tag}");
    }
    assert!(has("2026-11-23T19:05:07"));
}

#[test]
fn other_programs_read_the_text() {
    let Some(text) = read_by_poppler(&pdf(&report()).unwrap()) else {
        skipped::skipped("the command pdftotext (poppler-utils)");
        return;
    };
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Opening of packet 6: <web-1> & others"),
        "{words:.500}"
    );
    assert!(
        words.contains("web-1 \u{43c}\u{430}\u{448}\u{438}\u{43d}\u{430} [U+4E2D]"),
        "{words:.1500}"
    );
    assert!(words.contains("a[U+202E]b"));
    assert!(words.contains("packet of 119 bytes"));
    assert!(words.contains("6: <web-1> & others 2/"), "the footer");
}

#[test]
fn the_length_is_bounded() {
    let long = Report {
        blocks: vec![Block::Text("x".repeat(TEXT_MAX + 1))],
        ..report()
    };
    assert!(matches!(pdf(&long), Err(PdfError::TooLong)));
    let empty = Report {
        time: report().time,
        ..Report::default()
    };
    assert!(pdf(&empty).is_ok());
}
