use crate::http::Pin;
use crate::trustee::testing::{FakeDocket, lock, matter};
use crate::trustee::{Kind, Metrics, TrusteePages, Word};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use clew_keys::login::LoginAnswer;
use ed25519_dalek::SigningKey;
use std::sync::Arc;
use tower::ServiceExt;

const HOST: &str = "127.0.0.1:4915";

struct Served {
    router: Router,
    docket: Arc<FakeDocket>,
    metrics: Arc<Metrics>,
    key: SigningKey,
    pin: Pin,
}

fn serve(requests: u8) -> Served {
    let key = SigningKey::from_bytes(&[7; 32]);
    let docket = Arc::new(FakeDocket::new(key.verifying_key().to_bytes(), requests));
    let (metrics, pin) = (Arc::new(Metrics::default()), Pin::of(b"a key"));
    let pages = TrusteePages::new(docket.clone(), metrics.clone(), pin).unwrap();
    Served {
        router: pages.router(),
        docket,
        metrics,
        key,
        pin,
    }
}

async fn text(response: Response) -> String {
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

impl Served {
    async fn ask(&self, request: axum::http::request::Builder, body: Vec<u8>) -> Response {
        let request = request.header("host", HOST).body(Body::from(body)).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn get(&self, path: &str, cookie: &str) -> Response {
        let request = Request::get(format!("/{path}")).header("cookie", cookie);
        self.ask(request, Vec::new()).await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut request = Request::post(format!("/pages/{path}"))
            .header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request, body.into()).await
    }

    async fn link(&self, key: &SigningKey) -> Response {
        let challenge = self
            .ask(Request::post("/pages/challenge"), Vec::new())
            .await;
        let challenge = to_bytes(challenge.into_body(), 100).await.unwrap();
        let challenge = challenge.to_vec().try_into().unwrap();
        let answer = LoginAnswer::sign(challenge, self.pin.as_bytes(), key).encode();
        self.ask(Request::post("/pages/answer"), answer).await
    }

    async fn log_in(&self) -> String {
        let link = text(self.link(&self.key).await).await;
        let entered = self.post("enter", &[], &format!("link={link}")).await;
        assert_eq!(entered.headers()["location"], "requests");
        let cookie = entered.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.starts_with("__Host-clew-trustee="), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    /// The fields of the form that says this word.
    async fn form(&self, cookie: &str, path: &str, word: &str) -> String {
        let page = text(self.get(path, cookie).await).await;
        let said = format!("name=\"word\" value=\"{word}\"");
        let mut forms = page.split("<form").filter(|form| form.contains(&said));
        let form = forms.next().unwrap_or_else(|| panic!("no {word}: {page}"));
        let fields = form.split("name=\"").skip(1).filter_map(|field| {
            let (name, rest) = field.split_once('"')?;
            let value = rest.split_once("value=\"")?.1.split('"').next()?;
            (!["read", "because"].contains(&name)).then(|| format!("{name}={value}"))
        });
        fields.collect::<Vec<_>>().join("&")
    }
}

fn request(number: u8) -> String {
    format!("pages/request?id={}", matter(Kind::Request, number).id)
}

#[tokio::test]
async fn the_trustees_own_key_alone_logs_in() {
    let served = serve(1);
    let stranger = served.link(&SigningKey::from_bytes(&[8; 32])).await;
    assert_eq!(stranger.status(), StatusCode::FORBIDDEN);
    for path in ["pages/requests", "pages/plans", "pages/state", &request(1)] {
        let shut = served.get(path, "__Host-clew-trustee=AAAA").await;
        assert_eq!(shut.status(), StatusCode::SEE_OTHER, "{path}");
        assert_eq!(shut.headers()["location"], "login");
        assert_eq!(text(shut).await, "");
    }
    let packets = format!("pages/packets?id={}", matter(Kind::Request, 1).id);
    assert_eq!(
        served.get(&packets, "").await.status(),
        StatusCode::SEE_OTHER
    );
    let cookie = served.log_in().await;
    let list = text(served.get("pages/requests", &cookie).await).await;
    assert!(list.contains("1 waits for your decision"), "{list}");
    // A cookie of the manager's pages on this host is another one.
    let other = cookie.replace("-trustee", "");
    let shut = served.get("pages/requests", &other).await;
    assert_eq!(shut.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn others_words_are_shown_and_never_markup() {
    let served = serve(1);
    let cookie = served.log_in().await;
    let page = text(served.get(&request(1), &cookie).await).await;
    assert!(
        page.contains("for &lt;b&gt;police") && !page.contains("<b>"),
        "{page}"
    );
    assert!(page.contains("4 KLs[U+202E] 17/26"), "{page}");
    assert!(page.contains("192.0.2.1:1") && page.contains("And 1 more."));
    assert!(page.contains("2027-01-15 08:00:00 UTC"));
    let id = matter(Kind::Request, 1).id;
    let packets = served.get(&format!("pages/packets?id={id}"), &cookie).await;
    let disposition = packets.headers()["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment"));
    assert_eq!(text(packets).await, "pcap");
    for path in [
        "pages/request?id=00",
        "pages/plan?id=..%2f..",
        "pages/packets?id=",
    ] {
        let none = served.get(path, &cookie).await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

/// Headers and body of a form, and the status that answers it.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, StatusCode);

#[tokio::test]
async fn a_form_of_the_page_decides_and_nothing_else_does() {
    let served = serve(2);
    let cookie = served.log_in().await;
    let own = [("cookie", &*cookie)];
    let form = served.form(&cookie, &request(1), "approve").await;
    let ticked = format!("{form}&read=yes");
    let without_token = ticked
        .split('&')
        .filter(|field| !field.starts_with("token"));
    let without_token = without_token.collect::<Vec<_>>().join("&");
    let seen = format!("seen={}", "01".repeat(32));
    let older = ticked.replace(&seen, &format!("seen={}", "02".repeat(32)));
    let refused: [Case<'_>; 8] = [
        (&own, &form, StatusCode::BAD_REQUEST), // not ticked
        (&own, &without_token, StatusCode::BAD_REQUEST),
        (
            &own,
            &ticked.replace("token=", "token=AA"),
            StatusCode::FORBIDDEN,
        ),
        (
            &[own[0], ("origin", "https://evil.example")],
            &ticked,
            StatusCode::FORBIDDEN,
        ),
        (
            &[own[0], ("sec-fetch-site", "same-site")],
            &ticked,
            StatusCode::FORBIDDEN,
        ),
        (&[], &ticked, StatusCode::SEE_OTHER),
        (&own, &older, StatusCode::CONFLICT),
        (
            &own,
            &ticked.replace("word=approve", "word=maybe"),
            StatusCode::BAD_REQUEST,
        ),
    ];
    for (headers, body, status) in refused {
        let answered = served.post("decide", headers, body).await;
        assert_eq!(answered.status(), status, "{headers:?} {body}");
    }
    // Another session of the same key has another token.
    let other = served.log_in().await;
    let answered = served.post("decide", &[("cookie", &*other)], &ticked).await;
    assert_eq!(answered.status(), StatusCode::FORBIDDEN);
    // Reading decides nothing, either.
    let read = served.get(&format!("pages/decide?{ticked}"), &cookie).await;
    assert_ne!(read.status(), StatusCode::SEE_OTHER);
    assert_eq!(lock(&served.docket.ordered).len(), 0);
}

#[tokio::test]
async fn what_the_operator_said_is_ordered() {
    let served = serve(2);
    let cookie = served.log_in().await;
    let own = [("cookie", &*cookie)];
    let form = served.form(&cookie, &request(1), "approve").await;
    let done = served
        .post("decide", &own, &format!("{form}&read=yes"))
        .await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    assert_eq!(done.headers()["location"], request(1)[6..]);
    let form = served.form(&cookie, &request(2), "refuse").await;
    let named = format!("{form}&because=warrant-expired");
    for body in [&named, &format!("{form}&because=")] {
        let done = served.post("decide", &own, body).await;
        assert_eq!(done.status(), StatusCode::SEE_OTHER);
    }
    let words: Vec<_> = lock(&served.docket.ordered)
        .iter()
        .map(|ordered| ordered.word.clone())
        .collect();
    let rule = Some("warrant-expired".to_owned());
    assert_eq!(
        words,
        [Word::Approve, Word::Refuse(rule), Word::Refuse(None)]
    );
    let text = served.metrics.text();
    assert!(text.contains("clew_trustee_orders_total 3"), "{text}");
}

#[tokio::test]
async fn a_list_has_parts() {
    let served = serve(120);
    let cookie = served.log_in().await;
    let (mut path, mut found) = ("requests".to_owned(), 0);
    loop {
        let page = text(served.get(&format!("pages/{path}"), &cookie).await).await;
        found += page.matches("href=\"request?id=").count();
        let mut links = page.split("<a href=\"");
        let Some(next) = links.find(|link| link.contains("rel=\"next\"")) else {
            break;
        };
        path = next.split('"').next().unwrap().to_owned();
    }
    assert_eq!(found, 120);
    for path in [
        "pages/requests?from=18446744073709551615",
        "pages/plans?from=9",
    ] {
        assert_eq!(served.get(path, &cookie).await.status(), StatusCode::OK);
    }
    let bad = served.get("pages/requests?from=x", &cookie).await;
    assert_eq!(bad.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn health_says_that_requests_wait_and_not_why() {
    let served = serve(0);
    assert_eq!(served.get("health", "").await.status(), StatusCode::OK);
    *lock(&served.docket.trouble) = Some("/home/alice/policy.toml: bad".to_owned());
    let ill = served.get("health", "").await;
    assert_eq!(ill.status(), StatusCode::SERVICE_UNAVAILABLE);
    let (health, metrics) = (text(ill).await, text(served.get("metrics", "").await).await);
    assert!(!health.contains("alice") && !metrics.contains("alice"));
    assert!(
        metrics.contains("clew_trustee_silence_seconds 0"),
        "{metrics}"
    );
    let cookie = served.log_in().await;
    let page = text(served.get("pages/state", &cookie).await).await;
    assert!(page.contains("/home/alice/policy.toml: bad"), "{page}");
}
