use super::ManagerPages;
use crate::manager::{Manager, ManagerOptions};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::login::LoginAnswer;
use clew_keys::{AuthorKeyFile, IssuerKeyFile, TextFile};
use clew_log::entry::{Role, Trusteeship};
use clew_manager::{Board, ISSUER_KEY, NewGroup, Opening, Store};
use ed25519_dalek::SigningKey;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use tempfile::TempDir;
use tower::ServiceExt;

const NOW: u64 = 1_800_000_000_000_000_000;
const HOST: &str = "manager.example:4910";

struct Served {
    router: Router,
    manager: SigningKey,
    store: Store,
    _dir: TempDir,
}

struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answered {
    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// What a browser sends back.
    fn cookie(&self) -> String {
        self.header("set-cookie")
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    }
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A manager with so many machines, the last one with markup for a name.
fn serve(machines: u32) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("acme");
    let group = NewGroup {
        name: "acme <i>".parse().unwrap(),
        scheme: Scheme::Xr,
        opening: Opening::TrustedDealer(Quorum::new(1, 1).unwrap()),
        log: None,
        now: NOW,
    };
    let mut store = Store::create(&path, group, None, &mut rng(1))
        .unwrap()
        .store;
    let key = std::fs::read_to_string(path.join(ISSUER_KEY)).unwrap();
    let issuer = IssuerKeyFile::decode(&key).unwrap();
    for number in 0..machines {
        let name = match number + 1 == machines {
            true => "<script>x</script>".to_owned(),
            false => format!("web-{number:03}"),
        };
        let pending = store.enrol(
            &issuer,
            name.parse().unwrap(),
            NOW,
            &mut rng(2 + u64::from(number)),
        );
        pending.unwrap().commit().unwrap();
    }
    store.refresh().unwrap();
    let options = ManagerOptions {
        epoch_every: None,
        clock: || NOW + 1_000_000,
        tell: |_| (),
    };
    let signs = issuer.manager.clone();
    let (manager, _) = Manager::start(store, issuer, options, rng(3)).unwrap();
    let both = (Store::open(&path).unwrap(), Board::open(&path).unwrap());
    let pages = ManagerPages::new(both, manager, || NOW, None).unwrap();
    Served {
        router: pages.router(),
        manager: signs,
        store: Store::open(&path).unwrap(),
        _dir: dir,
    }
}

impl Served {
    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answered {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        Answered {
            status: head.status,
            headers: head.headers,
            body: to_bytes(body, 1 << 20).await.unwrap().to_vec(),
        }
    }

    async fn get(&self, path: &str, cookie: &str) -> Answered {
        self.ask("GET", path, &[("cookie", cookie)], Vec::new())
            .await
    }

    async fn form(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.ask("POST", path, &[headers, &[kind]].concat(), body.into())
            .await
    }

    async fn answer(&self, key: &SigningKey) -> Answered {
        let challenge = self.ask("POST", "/pages/challenge", &[], Vec::new()).await;
        let challenge = challenge.body.try_into().unwrap();
        let answer = LoginAnswer::sign(challenge, &[0; 32], key).encode();
        self.ask("POST", "/pages/answer", &[], answer).await
    }

    async fn log_in(&self, key: &SigningKey) -> String {
        let link = self.answer(key).await.text();
        let entered = self
            .form("/pages/enter", &[], &format!("link={link}"))
            .await;
        assert_eq!(
            (entered.status, entered.header("location")),
            (StatusCode::SEE_OTHER, "state")
        );
        entered.cookie()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_managers_key_logs_in_and_sees() {
    let served = serve(2);
    for path in [
        "/pages/state",
        "/pages/machines",
        "/pages/machines?name=web",
    ] {
        let stranger = served.get(path, "").await;
        assert_eq!(
            (stranger.status, stranger.header("location")),
            (StatusCode::SEE_OTHER, "login")
        );
        assert!(stranger.body.is_empty());
    }
    let link = served.answer(&served.manager).await.text();
    // Looking at a link does not use it up.
    for _ in 0..2 {
        let page = served.get(&format!("/pages/login?link={link}"), "").await;
        assert!(
            page.text()
                .contains("This link logs in as <strong>the group's manager</strong>")
        );
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("set-cookie"), "");
    }
    let entered = served
        .form("/pages/enter", &[], &format!("link={link}"))
        .await;
    let set = entered.header("set-cookie");
    assert!(set.starts_with("__Host-clew="), "{set}");
    for flag in [
        "; Path=/;",
        "; Secure",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Max-Age=28800",
    ] {
        assert!(set.contains(flag), "{set} lacks {flag}");
    }
    let cookie = entered.cookie();
    let page = served.get("/pages/state", &cookie).await;
    assert_eq!(
        (page.status, page.header("cache-control")),
        (StatusCode::OK, "no-store")
    );
    assert!(
        page.header("content-security-policy")
            .contains("frame-ancestors 'none'")
    );
    let text = page.text();
    assert!(
        text.contains("<dt>Machines in the register</dt><dd>2</dd>"),
        "{text}"
    );
    assert!(text.contains("Manager of acme &lt;i&gt;") && !text.contains("<i>"));
    let machines = served.get("/pages/machines", &cookie).await.text();
    assert!(
        machines.contains("web-000") && machines.contains("&lt;script&gt;x"),
        "{machines}"
    );
    assert!(!machines.contains("<script"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_by_a_form_of_its_own_page_alone() {
    let served = serve(1);
    let cookie = served.log_in(&served.manager).await;
    let text = served.get("/pages/state", &cookie).await.text();
    let token = text.split("name=\"token\" value=\"").nth(1).unwrap();
    let token = format!("token={}", token.split('"').next().unwrap());
    let own = [("cookie", &*cookie)];
    for (headers, body) in [
        (&own[..], ""),
        (&own[..], "token=AAAA"),
        (&[][..], &*token),
        (&[own[0], ("origin", "https://evil.example")][..], &*token),
        (&[own[0], ("origin", "null")][..], &*token),
        (&[own[0], ("sec-fetch-site", "cross-site")][..], &*token),
    ] {
        let refused = served.form("/pages/leave", headers, body).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{headers:?} {body}");
    }
    assert_eq!(
        served.get("/pages/state", &cookie).await.status,
        StatusCode::OK
    );
    let origin = format!("https://{HOST}");
    let headers = [
        own[0],
        ("origin", &*origin),
        ("sec-fetch-site", "same-origin"),
    ];
    let left = served.form("/pages/leave", &headers, &token).await;
    assert_eq!(
        (left.status, left.header("location")),
        (StatusCode::SEE_OTHER, "login")
    );
    assert!(left.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(
        served.get("/pages/state", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_key_link_or_site_logs_in() {
    let served = serve(1);
    let stranger = served.answer(&SigningKey::from_bytes(&[9; 32])).await;
    assert_eq!(stranger.status, StatusCode::FORBIDDEN);
    for body in [Vec::new(), vec![0; 168], vec![0; 4_096]] {
        let refused = served.ask("POST", "/pages/answer", &[], body).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }
    let large = served
        .ask("POST", "/pages/answer", &[], vec![0; 4_097])
        .await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    let link = served.answer(&served.manager).await.text();
    let form = format!("link={link}");
    let elsewhere = [("origin", "https://evil.example")];
    let refused = served.form("/pages/enter", &elsewhere, &form).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    for bad in ["", "link=", "link=AAAA", "other=1", "link=%ff"] {
        let refused = served.form("/pages/enter", &[], bad).await;
        assert_eq!(
            (refused.status, refused.header("set-cookie")),
            (StatusCode::FORBIDDEN, ""),
            "{bad}"
        );
    }
    assert_eq!(
        served.form("/pages/enter", &[], &form).await.status,
        StatusCode::SEE_OTHER
    );
    let twice = served.form("/pages/enter", &[], &form).await;
    assert_eq!(
        (twice.status, twice.header("set-cookie")),
        (StatusCode::FORBIDDEN, "")
    );
    // From here on the address has tried too often.
    let mut status = StatusCode::OK;
    for _ in 0..crate::pages::ATTEMPTS_MAX {
        status = served.answer(&served.manager).await.status;
    }
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn authors_see_what_their_role_shows_until_they_are_dismissed() {
    let mut served = serve(1);
    let file = AuthorKeyFile::new([5; 32].into(), "bob & co".parse().unwrap());
    let (key, author) = (file.signing_key(), file.public());
    assert_eq!(served.answer(&key).await.status, StatusCode::FORBIDDEN);
    served
        .store
        .admit_author(&author, Role::Trustee(Trusteeship::of_first_key(1)), NOW)
        .unwrap();
    let cookie = served.log_in(&key).await;
    let page = served.get("/pages/state", &cookie).await.text();
    assert!(
        page.contains("Logged in: bob &amp; co, trustee 1"),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("Factories"));
    let requests = served.get("/pages/requests", &cookie).await;
    assert_eq!(requests.status, StatusCode::OK);
    assert!(requests.text().contains("Nothing yet."));
    let machines = served.get("/pages/machines", &cookie).await;
    assert_eq!(machines.status, StatusCode::FORBIDDEN);
    assert!(!machines.text().contains("script"));
    served.store.dismiss_author(&author.name).unwrap();
    assert_eq!(
        served.get("/pages/state", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(served.answer(&key).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_and_strangers_read_no_requests() {
    let mut served = serve(1);
    let file = AuthorKeyFile::new([6; 32].into(), "eye".parse().unwrap());
    let observer = file.public();
    served
        .store
        .admit_author(&observer, Role::Observer, NOW)
        .unwrap();
    let cookie = served.log_in(&file.signing_key()).await;
    let refused = served.get("/pages/requests", &cookie).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let elsewhere = served.get("/pages/requests", "").await;
    assert_eq!(elsewhere.status, StatusCode::SEE_OTHER);
    let cookie = served.log_in(&served.manager).await;
    for (path, status) in [
        ("requests", StatusCode::OK),
        ("requests?before=18446744073709551615", StatusCode::OK),
        ("requests?before=x", StatusCode::BAD_REQUEST),
    ] {
        let seen = served.get(&format!("/pages/{path}"), &cookie).await;
        assert_eq!(seen.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_are_paged_and_found_by_the_beginning_of_their_names() {
    let served = serve(112);
    let cookie = served.log_in(&served.manager).await;
    for (first, expected) in [
        ("machines", 112),
        ("machines?name=web-", 111),
        ("machines?name=web-10", 10),
        ("machines?name=%25", 0),
    ] {
        let (mut path, mut rows) = (first.to_owned(), Vec::new());
        loop {
            let page = served.get(&format!("/pages/{path}"), &cookie).await.text();
            let cells = page.split("<tr><th scope=\"row\">").skip(1);
            let part: Vec<u32> = cells
                .map(|row| row.split('<').next().unwrap().parse().unwrap())
                .collect();
            assert!(part.len() <= 50);
            rows.extend(part);
            let Some(next) = page
                .split("<a href=\"")
                .find(|link| link.contains("rel=\"next\""))
            else {
                break;
            };
            path = next.split('"').next().unwrap().replace("&amp;", "&");
        }
        let all: std::collections::BTreeSet<_> = rows.iter().collect();
        assert_eq!((rows.len(), all.len()), (expected, expected), "{first}");
    }
    for (path, status) in [
        ("machines?before=x", StatusCode::BAD_REQUEST),
        ("machines?before=4294967296", StatusCode::BAD_REQUEST),
        ("machines?before=0", StatusCode::OK),
        ("machines?name=web&after=4294967295", StatusCode::OK),
    ] {
        let answered = served.get(&format!("/pages/{path}"), &cookie).await;
        assert_eq!(answered.status, status, "{path}");
    }
    let long = format!("/pages/machines?name={}", "a".repeat(65));
    assert_eq!(
        served.get(&long, &cookie).await.status,
        StatusCode::BAD_REQUEST
    );
}
