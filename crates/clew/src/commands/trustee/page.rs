//! A trustee's page for its operator, and the link that logs in to it; its notices.

use super::docket::OwnDocket;
use super::home::{Home, get, make_folder, put};
use crate::cli::TrusteeLogin;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_service::http::{Certificate, Client, Server, ServerLimits, ServiceUrl};
use clew_service::pages::link;
use clew_service::trustee::notices::{Notifier, Settings};
use clew_service::trustee::{Metrics, TrusteePages};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

const PAGE_URL: &str = "page.url";
const NOTICES: &str = "notices.toml";

/// One operator needs few connections.
const LIMITS: ServerLimits = ServerLimits {
    connections: 64,
    connections_of_host: 32,
    head: std::time::Duration::from_secs(10),
    request: std::time::Duration::from_secs(60),
    stall: std::time::Duration::from_secs(20),
};

/// The page's server, which is not running yet.
pub struct OwnPage {
    server: Server,
    pages: TrusteePages,
}

impl OwnPage {
    /// Listens, and keeps the page's address for `clew trustee login`.
    pub fn new(
        home: &Home,
        at: SocketAddr,
        docket: Arc<OwnDocket>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, Failure> {
        let tls = home.path("tls");
        make_folder(&tls)?;
        let names = ["localhost".to_owned(), at.ip().to_string()];
        let certificate = Certificate::of(&tls, &names).map_err(Failure::new)?;
        let cannot = |error| Failure::new(format!("cannot listen on {at}: {error}"));
        let listener = TcpListener::bind(at).map_err(cannot)?;
        let at = listener.local_addr().map_err(cannot)?;
        let server = Server::new(listener, Some(&certificate), LIMITS).map_err(cannot)?;
        let url = ServiceUrl::pinned(&at.to_string(), certificate.pin()).map_err(Failure::new)?;
        let pages = TrusteePages::new(docket, metrics, certificate.pin()).map_err(Failure::new)?;
        put(&home.path(PAGE_URL), format!("{url}\n").as_bytes())?;
        say!("page at {url}");
        if !at.ip().is_loopback() {
            mention!(
                "clew: warning: other hosts reach the page; who logs in decides for this trustee"
            );
        }
        Ok(Self { server, pages })
    }

    /// Answers for ever.
    pub async fn run(self) {
        let router = self.pages.router();
        self.server.run(router, std::future::pending()).await;
    }
}

/// The notices that the directory's settings ask for. Returns `None` if it has none.
pub fn notifier(home: &Home) -> Result<Option<Notifier>, Failure> {
    let path = home.path(NOTICES);
    let Some(bytes) = get(&path)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|_| Failure::file(&path, "not text"))?;
    let password = |file: &Path| {
        let file = home.path("").join(file);
        secrets::read_text(&file).map_err(|failure| failure.message)
    };
    let settings = Settings::parse(&text, password);
    let settings = settings.map_err(|error| Failure::file(&path, error))?;
    let notifier = Notifier::new(settings, |line| mention!("clew: {line}"));
    notifier
        .map(Some)
        .map_err(|error| Failure::file(&path, error))
}

pub fn login(arguments: &TrusteeLogin) -> Result<Status, Failure> {
    let home = Home::open(&arguments.dir)?;
    let path = home.path(PAGE_URL);
    let url = get(&path)?.and_then(|bytes| String::from_utf8(bytes).ok());
    let url = url.ok_or_else(|| {
        let dir = arguments.dir.display();
        Failure::file(&arguments.dir, "this trustee serves no page")
            .hint(format!("clew trustee serve {dir} --page"))
    })?;
    let url: ServiceUrl = url.trim().parse().map_err(|e| Failure::file(&path, e))?;
    let key = home.identity(&arguments.unlock)?.key.signing_key();
    let link = crate::tunnel::run(async {
        let client = Client::new(&url).map_err(Failure::new)?;
        link(&client, &key).await.map_err(Failure::new)
    })?;
    say!("{link}");
    mention!("open it in a browser within two minutes: it logs in once, whoever has it");
    Ok(Status::Yes)
}
