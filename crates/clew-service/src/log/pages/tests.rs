use super::{LogPages, SmallestQuorum};
use crate::log::clear_key;
use crate::log::{Log, LogOptions, LogService};
use axum::Router;
use axum::body::{Body as HttpBody, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use clew_keys::{LogKeyFile, TextFile};
use clew_log::entry::{Answer, Asks, Body, Entry, Filed, Role, Seal, Trusteeship, Warrant};
use clew_log::{Founder, KeyKind};
use clew_wire::{Hex, WallTime};
use ed25519_dalek::SigningKey;
use std::time::Duration;
use tempfile::TempDir;
use tower::ServiceExt;

const NOW: WallTime = WallTime::from_nanos(1_700_000_000_000_000_000);
const RECORD: [u8; 32] = [5; 32];

struct Served {
    router: Router,
    service: LogService,
    _dir: TempDir,
}

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn entry(author: u8, body: Body) -> Entry {
    let group = core::array::from_fn(|place| RECORD[place]);
    Entry::sign(group, NOW, body, &key(author)).unwrap()
}

fn admit(author: u8, role: Role, name: &str) -> Entry {
    let (key, name) = (
        key(author).verifying_key().to_bytes(),
        name.parse().unwrap(),
    );
    let change = 0;
    let body = Body::Author {
        role,
        key,
        change,
        name,
    };
    entry(1, body)
}

fn warrant() -> Warrant {
    Warrant {
        salt: [7; 32],
        file: "<script>alert(1)</script>\u{202e}\u{0}".into(),
    }
}

fn filed(id: u8, seal: Seal) -> Entry {
    entry(
        2,
        Body::Request(Filed {
            asks: Asks::Opening,
            request: [id; 32],
            signatures: 4,
            warrant: warrant().hash(),
            seal,
        }),
    )
}

/// A log with an author whose name is markup, requests at places 3 and 4, and 60 machines.
fn entries() -> Vec<Entry> {
    let sealed = Seal::Until(NOW + Duration::from_nanos(1));
    let yes = Body::Decision {
        place: 3,
        by: Trusteeship::of_first_key(1),
        answer: Answer::Yes,
    };
    let mut entries = vec![
        entry(1, Body::Group { record: RECORD }),
        admit(2, Role::Requester, "<b>\"court\" & 'co'</b>"),
        admit(3, Role::Trustee(Trusteeship::of_first_key(1)), "t"),
        filed(9, Seal::Open(warrant())),
        filed(8, sealed),
        entry(3, yes),
    ];
    entries.extend((0..60).map(|first| {
        let leaves = vec![[first as u8; 32]];
        entry(1, Body::Enrolled { first, leaves })
    }));
    entries
}

async fn serve(entries: Vec<Entry>) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let own = LogKeyFile::new(
        KeyKind::Log,
        [4; 32].into(),
        &"log.example/acme".parse().unwrap(),
    )
    .unwrap();
    Log::create(&path, &own, &own.encode()).unwrap();
    let manager = key(1).verifying_key().to_bytes();
    let founder = Founder {
        record: RECORD,
        manager,
    };
    Log::bind(&path, &founder, b"").unwrap();
    let mut log = Log::open(&path, clear_key).unwrap();
    for added in log.add(entries, NOW).unwrap() {
        added.unwrap();
    }
    let quorum = SmallestQuorum::default();
    quorum.set(1);
    let options = LogOptions {
        clock: || NOW + Duration::from_secs(3_600),
        witnesses: Vec::new(),
        threshold: 0,
        tell: |_| {},
        pages: LogPages {
            url: "https://log.example/'<x>".to_owned(),
            quorum,
        },
    };
    let service = LogService::start(log, options).unwrap();
    let served = Served {
        router: service.router(),
        service,
        _dir: dir,
    };
    for _ in 0..500 {
        if !served.get("/pages/log").await.2.contains("being prepared") {
            return served;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("the pages read the log");
}

impl Served {
    async fn get(&self, path: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::get(path).body(HttpBody::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        (head.status, head.headers, text)
    }

    async fn page(&self, path: &str) -> String {
        let (status, _, text) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    async fn stop(self) {
        drop(self.router);
        self.service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_count_is_public_and_has_sealed_and_overdue_requests() {
    let log = serve(entries()).await;
    let page = log.page("/pages/log").await;
    assert!(
        page.contains("<th scope=\"row\">2023-11</th><td>1</td><td>0</td><td>4</td>"),
        "{page}"
    );
    assert!(page.contains("<dt>Requests in all</dt><dd>2</dd>"));
    assert!(page.contains("<dt>Sealed now</dt><dd>1</dd>"));
    // Its seal has ended.
    assert!(page.contains("<a href=\"entry?place=4\">Request 4</a>"));
    let page = log.page("/pages/requests").await;
    assert!(page.contains("approved: 1 yes, 1 needed"));
    assert!(page.contains("filed: no trustee has decided; overdue to be unsealed"));
    // New entries are on the pages, too.
    let more = admit(4, Role::Observer, "eye");
    let add = Request::post("/add").body(HttpBody::from(more.encode()));
    let added = log.router.clone().oneshot(add.unwrap()).await.unwrap();
    assert_eq!(added.status(), StatusCode::CREATED);
    for _ in 0..500 {
        if log
            .page("/pages/log")
            .await
            .contains("<dt>Entries</dt><dd>67</dd>")
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(log.page("/pages/entry?place=66").await.contains("eye"));
    log.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_files_of_others_are_text_and_hidden_characters_numbers() {
    let log = serve(entries()).await;
    for path in [
        "/pages/log",
        "/pages/requests",
        "/pages/entries?before=20",
        "/pages/entry?place=1",
        "/pages/entry?place=3",
    ] {
        let page = log.page(path).await;
        for markup in ["<b>", "<script", "<x>", "\u{202e}", "\u{0}", "javascript:"] {
            assert!(!page.contains(markup), "{path} has {markup:?}");
        }
    }
    let page = log.page("/pages/entry?place=1").await;
    assert!(
        page.contains("&lt;b&gt;&quot;court&quot; &amp; 'co'&lt;/b&gt;"),
        "{page}"
    );
    let page = log.page("/pages/entry?place=3").await;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;[U+202E][U+0000]"));
    let sought = log
        .page("/pages/search?q=%22%3E%3Cscript%3E%E2%80%AE")
        .await;
    assert!(
        !sought.contains("<script") && !sought.contains('\u{202e}'),
        "{sought}"
    );
    log.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_load_nothing_from_elsewhere_and_may_not_be_framed() {
    let log = serve(entries()).await;
    for path in [
        "/pages/log",
        "/pages/entry?place=999",
        "/pages/entry?place=x",
        "/pages/none",
    ] {
        let (_, headers, page) = log.get(path).await;
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert!(!page.contains("<script") && !page.contains("style=") && !page.contains("src="));
        assert_eq!(page.matches("<h1>").count(), 1, "{path}");
    }
    let page = log.page("/pages/log").await;
    let style = page.split("href=\"style-").nth(1).unwrap();
    let style = style.split('"').next().unwrap();
    let (status, headers, sheet) = log.get(&format!("/pages/style-{style}")).await;
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap()),
        (StatusCode::OK, "text/css; charset=utf-8")
    );
    assert!(
        sheet.contains("prefers-color-scheme: dark")
            && !sheet.contains("url(")
            && !sheet.contains("@import")
    );
    log.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_bounded_parts_that_lead_to_all_entries() {
    let log = serve(entries()).await;
    let mut path = "/pages/entries".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = log.page(&path).await;
        let rows: Vec<_> = page
            .split("<tr><th scope=\"row\"><a href=\"entry?place=")
            .skip(1)
            .collect();
        assert!(rows.len() <= 50);
        seen.extend(
            rows.iter()
                .map(|row| row.split('"').next().unwrap().parse::<u64>().unwrap()),
        );
        let Some(older) = page
            .split("<a href=\"")
            .find(|link| link.contains("rel=\"next\""))
        else {
            break;
        };
        path = format!("/pages/{}", older.split('"').next().unwrap());
    }
    assert_eq!(seen, (0..66).rev().collect::<Vec<_>>());
    for (path, status) in [
        ("/pages/entries?before=0", 200),
        ("/pages/entries?before=18446744073709551615", 200),
        ("/pages/entries?before=18446744073709551616", 400),
        ("/pages/entries?before=-1", 400),
        ("/pages/requests?before=0", 200),
        ("/pages/requests?before=x", 400),
        ("/pages/entry", 400),
        ("/pages/entry?place=65", 200),
        ("/pages/entry?place=66", 404),
        ("/pages/entry?place=18446744073709551615", 404),
    ] {
        assert_eq!(log.get(path).await.0.as_u16(), status, "{path}");
    }
    log.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_places_and_hashes_and_says_what_it_does_not_know() {
    let log = serve(entries()).await;
    let found = |place: u64| format!("Found: entry <a href=\"entry?place={place}\">");
    let of = |sought: String| format!("/pages/search?q={sought}");
    let all = entries();
    for (sought, place) in [
        ("3".to_owned(), 3),
        (Hex(&[9; 32]).to_string(), 3),
        (Hex(&[8; 32]).to_string().to_uppercase(), 4),
        (Hex(&RECORD).to_string(), 0),
        (Hex(&all[40].statement()).to_string(), 40),
        (Hex(&key(3).verifying_key().to_bytes()).to_string(), 2),
    ] {
        let page = log.page(&of(sought.clone())).await;
        assert!(page.contains(&found(place)), "{sought}: {page}");
    }
    for (sought, told) in [
        ("66".to_owned(), "Nothing found."),
        (Hex(&[1; 32]).to_string(), "Nothing found."),
        ("web-1".to_owned(), "neither a place nor a hash"),
        ("9".repeat(5_000), "neither a place nor a hash"),
    ] {
        let page = log.page(&of(sought)).await;
        assert!(
            page.contains(told) && page.contains("What a search cannot promise"),
            "{told}"
        );
    }
    log.stop().await;
}

/// A log without entries, and one that is reached below another service's address.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_log_has_pages_and_a_log_below_another_address_too() {
    let log = serve(Vec::new()).await;
    for path in [
        "/pages/log",
        "/pages/entries",
        "/pages/requests",
        "/pages/search?q=0",
    ] {
        log.page(path).await;
    }
    let nested = Router::new().nest("/log", log.router.clone());
    let ask = |path: &str| {
        let request = Request::get(path).body(HttpBody::empty()).unwrap();
        nested.clone().oneshot(request)
    };
    let first = ask("/log").await.unwrap();
    assert_eq!(first.headers()["location"], "/log/pages/log");
    assert_eq!(
        ask("/log/pages/log").await.unwrap().status(),
        StatusCode::OK
    );
    drop(nested);
    log.stop().await;
}
