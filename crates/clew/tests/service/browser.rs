//! The pages for people in a real browser: `tests/browser` has the program that drives it.

use crate::folder::{Folder, Served, until, wait, yes};
use crate::skipped::skipped;
use clew_log::entry::{Answer, Body, Seal, Trusteeship};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser");
/// Where to put what the browser showed, for people.
const SHOTS: &str = "CLEW_SCREENSHOTS";

/// The browser, and the folder of what drives it.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let path = std::env::var_os("PATH")?;
    let found = |name: &str| {
        let places = std::env::split_paths(&path).map(|folder| folder.join(name));
        places.into_iter().find(|place| place.exists())
    };
    let program = found("chromium").or_else(|| found("chromium-browser"))?;
    found("node")?;
    let installed = Command::new(Path::new(TOOLS).join("install"))
        .output()
        .ok()?;
    let folder = String::from_utf8(installed.stdout).ok()?;
    installed
        .status
        .success()
        .then(|| (program, folder.trim().into()))
}

/// Has the browser look at pages below a service's address. `more` is added to what it is asked. Returns
/// `false` if there is no browser.
pub fn look(served: &Served, pages: &[&str], more: Value) -> bool {
    let Some((program, folder)) = browser() else {
        skipped("chromium, node and npm's packages of tests/browser");
        return false;
    };
    let origin = format!("https://{}", served.at());
    let spki = served.url.split_once("SHA256:").unwrap().1;
    let pages: Vec<_> = pages
        .iter()
        .map(|page| format!("{origin}/{page}"))
        .collect();
    let mut asked = json!({
        "browser": program, "spki": format!("{spki}="), "pages": pages,
        "shots": std::env::var(SHOTS).ok(),
    });
    for (name, value) in more.as_object().unwrap() {
        asked[name] = value.clone();
    }
    let visit = Command::new("node")
        .args(["visit.mjs", &asked.to_string()])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&visit.stderr);
    let told = String::from_utf8_lossy(&visit.stdout);
    assert!(visit.status.success(), "{told}{said}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["problems"], json!([]));
    assert_eq!(told["pages"], pages.len());
    true
}

#[test]
fn people_read_the_log_in_a_browser() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    let client = log.log();
    folder.publish(&log);
    let court = folder.author("court", "requester", &log);
    let trustee = folder.author("trustee-1", "trustee:1", &log);
    let open = wait(court.says(&client, court.request(1, Seal::Open(court.warrant())))).unwrap();
    let soon = crate::folder::now() + Duration::from_secs(3);
    let sealed = wait(court.says(&client, court.request(2, Seal::Until(soon)))).unwrap();
    wait(trustee.says(&client, yes(open, 1))).unwrap();
    let no = Body::Decision {
        place: sealed,
        by: Trusteeship::of_first_key(1),
        answer: Answer::No(7),
    };
    wait(trustee.says(&client, no)).unwrap();
    until("the seal ends", || crate::folder::now() >= soon);
    let (entry, search) = (
        format!("pages/entry?place={open}"),
        format!("pages/search?q={open}"),
    );
    let pages = [
        "pages/log",
        "pages/requests",
        "pages/entries",
        &entry,
        &search,
    ];
    let act = json!({
        "page": "pages/search", "into": "q", "type": open.to_string(),
        "press": "Search", "expect": format!("Found: entry {open}."),
    });
    look(&log, &pages, json!({ "acts": [act] }));
}

/// The operator logs in by a link, searches a machine by its name, and leaves: by keyboard alone.
#[test]
fn an_operator_reads_the_managers_pages_in_a_browser() {
    let folder = Folder::new();
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    folder.yes(&["enrol", "acme", "web <2>", "-o", "web-2.key"]);
    folder.yes(&[
        "log",
        "keygen",
        "court",
        "-o",
        "court.key",
        "--public",
        "court.pub",
    ]);
    let admit = [
        "manager",
        "admit",
        "acme",
        "--role",
        "requester",
        "--key",
        "court.pub",
    ];
    folder.yes(&admit);
    let link = folder.yes(&["manager", "login", "acme", "--at", &manager.at()]);
    let act = json!({
        "page": "pages/machines", "into": "name", "type": "web <",
        "press": "Search", "expect": "web <2>",
    });
    let leave = json!({ "page": "pages/state", "press": "Log out", "expect": "Log in" });
    let pages = ["pages/state", "pages/machines"];
    let more = json!({ "login": link.trim(), "acts": [act], "last": [leave] });
    look(&manager, &pages, more);
    // An author has a key of its own, and a stranger none.
    let url = &manager.url;
    let login = ["manager", "login", "--manager", url, "--key"];
    let link = folder.yes(&[&login[..], &["court.key"]].concat());
    assert!(link.contains("/pages/login?link="), "{link}");
    folder.yes(&["log", "keygen", "eve", "-o", "eve.key"]);
    let said = folder.ends(2, &[&login[..], &["eve.key"]].concat());
    assert!(said.contains("this key may not log in"), "{said}");
}
