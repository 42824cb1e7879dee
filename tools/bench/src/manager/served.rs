//! A service, and devices that join.

use crate::groups::rng;
use crate::issuing::{NOW, checked, name};
use crate::measure::Case;
use clew_evidence::CheckedGroup;
use clew_keys::join::{FactoryFile, InvitationFile, Joining, OfferFile};
use clew_keys::{IssuerKeyFile, TextFile};
use clew_manager::{ISSUER_KEY, Store};
use clew_service::http::{Certificate, Server, ServerLimits, ServiceUrl};
use clew_service::manager::{Manager, ManagerClient, ManagerOptions, router};
use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Devices that join at once.
const DEVICES: u64 = 64;
/// Joins of one sample.
const JOINS: u64 = 256;

/// A service on this host, with TLS and without.
pub struct Served {
    pub url: ServiceUrl,
    pub clear: SocketAddr,
    group: CheckedGroup,
    factory: Arc<FactoryFile>,
    next: AtomicU64,
}

fn listener() -> io::Result<TcpListener> {
    TcpListener::bind("127.0.0.1:0")
}

impl Served {
    pub fn start(runtime: &Runtime, mut store: Store, folder: &Path) -> io::Result<Self> {
        let key = std::fs::read_to_string(folder.join("small").join(ISSUER_KEY))?;
        let issuer = IssuerKeyFile::decode(&key).map_err(io::Error::other)?;
        let until = [NOW, NOW + (1 << 60)];
        let made = store.add_factory(&issuer, name("line-"), u32::MAX, until, &mut rng(3));
        let factory = made.map_err(io::Error::other)?;
        let group = checked(store.group());
        let certificate =
            Certificate::of(folder, &["localhost".to_owned()]).map_err(io::Error::other)?;
        let options = ManagerOptions {
            epoch_every: None,
            clock: || NOW + 1,
            tell: |line| eprintln!("clew-bench: {line}"),
        };
        let started = Manager::start(store, issuer, options, rng(4));
        let (manager, _) = started.map_err(io::Error::other)?;
        let limits = ServerLimits::default();
        let _inside = runtime.enter();
        let sealed = Server::new(listener()?, Some(&certificate), limits)?;
        let clear = Server::new(listener()?, None, limits)?;
        let at = sealed.address()?.to_string();
        let served = Self {
            url: ServiceUrl::pinned(&at, certificate.pin()).map_err(io::Error::other)?,
            clear: clear.address()?,
            group,
            factory: Arc::new(factory),
            next: AtomicU64::new(0),
        };
        for server in [sealed, clear] {
            runtime.spawn(server.run(router(manager.clone()), pending()));
        }
        Ok(served)
    }

    pub fn client(&self) -> ManagerClient {
        ManagerClient::new(&self.url).expect("its URL")
    }

    /// Whole joins, checked on both sides; how long they took.
    async fn joins(&self) -> Duration {
        let mut clients = JoinSet::new();
        for _ in 0..DEVICES {
            let (client, group, factory) =
                (self.client(), self.group.clone(), Arc::clone(&self.factory));
            let first = self.next.fetch_add(JOINS / DEVICES, Ordering::Relaxed);
            clients.spawn(async move {
                // Connections are made before: devices of a line have theirs.
                let _ = client.head(None, Duration::ZERO).await;
                (client, group, factory, first)
            });
        }
        let ready = clients.join_all().await;
        let started = Instant::now();
        let mut devices = JoinSet::new();
        for (client, group, factory, first) in ready {
            devices.spawn(async move {
                for number in first..first + JOINS / DEVICES {
                    join(&client, &group, &factory, number).await;
                }
            });
        }
        devices.join_all().await;
        started.elapsed()
    }
}

async fn join(client: &ManagerClient, group: &CheckedGroup, factory: &FactoryFile, number: u64) {
    let mut rng = rng(number);
    let claim = factory.claim(&name(&format!("line-{number}")));
    let invitation = client.claim(&claim).await.expect("an invitation");
    let mut joining = Joining::begin(invitation, group, &mut rng).expect("of this group");
    let offer = client.offer(joining.request()).await.expect("an offer");
    let accepted = joining.accept(&offer, group, &mut rng);
    let acceptance = accepted.expect("a good offer");
    let credential = client.admit(&acceptance).await.expect("a row");
    let key = joining.finish(&credential, group);
    key.expect("a credential that holds");
}

/// A join's rate is its number of microseconds, inverted.
pub fn all<'a>(runtime: &'a Runtime, name: &str, served: &'a Served) -> [Case<'a>; 1] {
    [Case::timed(
        format!("{name}-enrol"),
        "a whole join over TLS, 64 devices at once, checked on both sides",
        move || (runtime.block_on(served.joins()), JOINS as usize),
    )]
}

/// What a device computes in a join: on a host of its own it is not the service's time.
pub fn device(served: &Served) -> Case<'_> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let client = served.client();
    let number = served.next.fetch_add(1, Ordering::Relaxed);
    let claim = served.factory.claim(&name(&format!("line-{number}")));
    let invited = runtime.block_on(client.claim(&claim));
    let invitation: InvitationFile = invited.expect("an invitation");
    let begin = move || {
        let (group, rng) = (&served.group, &mut rng(number));
        Joining::begin(invitation.clone(), group, rng).expect("of this group")
    };
    let joining = begin();
    let offer: OfferFile = runtime
        .block_on(client.offer(joining.request()))
        .expect("an offer");
    Case::new(
        "device",
        "what a device computes in a join but for its last check",
        move || {
            let mut joining = begin();
            let mut rng = rng(number);
            joining.accept(&offer, &served.group, &mut rng).is_ok()
        },
    )
}
