//! wireguard-go, told what to do by its own protocol (a UNIX socket).

use super::{Running, System};
use crate::bed::{Bed, Namespace};
use crate::process::{Process, find, wait_until};
use crate::topology::{FAR_INNER, FAR_OUTER, NEAR_INNER, NEAR_OUTER, Shape, Topology};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// WireGuard in a process.
pub struct WireguardGo;

const PORT: u16 = 51_820;
/// 1500 less the headers of IPv6, UDP and WireGuard.
const MTU: u16 = 1420;

/// A key pair that everybody knows: these tunnels keep nothing secret.
struct Pair {
    secret: &'static str,
    public: &'static str,
}

const NEAR: Pair = Pair {
    secret: "1011111111111111111111111111111111111111111111111111111111111151",
    public: "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13",
};
const FAR: Pair = Pair {
    secret: "2022222222222222222222222222222222222222222222222222222222222262",
    public: "0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f20",
};

impl System for WireguardGo {
    fn name(&self) -> &'static str {
        "wireguard-go"
    }

    fn about(&self) -> &'static str {
        "golang.zx2c4.com/wireguard, ChaCha20-Poly1305"
    }

    fn port(&self) -> Option<u16> {
        Some(PORT)
    }

    fn available(&self) -> io::Result<()> {
        program().map(drop)
    }

    fn start(&self, _: &Bed, topology: &Topology) -> io::Result<Running> {
        let (client, server) = (topology.client(), topology.server());
        let near = Side {
            device: "wgnear",
            own: &NEAR,
            peer: &FAR,
        };
        let far = Side {
            device: "wgfar",
            own: &FAR,
            peer: &NEAR,
        };
        let processes = [near.start(topology.near())?, far.start(topology.far())?];
        let knows_near = topology.shape != Shape::Nat;
        near.tell(FAR_INNER, Some(FAR_OUTER[0]))?;
        far.tell(NEAR_INNER, knows_near.then_some(NEAR_OUTER[0]))?;
        let own = (topology.shape != Shape::Gateway).then_some([&*client.v4, &client.v6]);
        near.route(topology.near(), FAR_INNER, own)?;
        far.route(topology.far(), NEAR_INNER, Some([&server.v4, &server.v6]))?;
        let [near, far] = processes.map(|process| vec![process]);
        Ok(Running {
            near,
            far,
            client: (&client).into(),
            server: (&server).into(),
            both_ways: true,
        })
    }
}

fn program() -> io::Result<PathBuf> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let installed = Some(home.join("go/bin/wireguard")).filter(|path| path.is_file());
    find("wireguard-go").or(installed).ok_or_else(|| {
        let hint = "go install golang.zx2c4.com/wireguard@latest";
        io::Error::other(format!("wireguard-go: not installed\nhint: {hint}"))
    })
}

struct Side {
    device: &'static str,
    own: &'static Pair,
    peer: &'static Pair,
}

impl Side {
    fn socket(&self) -> PathBuf {
        Path::new("/var/run/wireguard").join(format!("{}.sock", self.device))
    }

    fn start(&self, namespace: &Namespace) -> io::Result<Process> {
        // One that was killed leaves its socket.
        let _ = std::fs::remove_file(self.socket());
        let program = program()?;
        let program = program.to_string_lossy();
        let silent = [
            "env",
            "LOG_LEVEL=error",
            "WG_PROCESS_FOREGROUND=1",
            &program,
            self.device,
        ];
        let process = Process::start(namespace, "wireguard-go", &silent)?;
        let is_there = || Ok(self.socket().exists());
        wait_until("wireguard-go's socket", Duration::from_secs(10), is_there)?;
        Ok(process)
    }

    /// Key, port and peer.
    fn tell(&self, networks: [&str; 2], peer_at: Option<&str>) -> io::Result<()> {
        let mut stream = UnixStream::connect(self.socket())?;
        let (secret, peer) = (self.own.secret, self.peer.public);
        write!(
            stream,
            "set=1\nprivate_key={secret}\nlisten_port={PORT}\npublic_key={peer}\n"
        )?;
        if let Some(address) = peer_at {
            write!(
                stream,
                "endpoint={address}:{PORT}\npersistent_keepalive_interval=1\n"
            )?;
        }
        for network in networks {
            writeln!(stream, "allowed_ip={network}")?;
        }
        writeln!(stream)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        match answer.trim() {
            "errno=0" => Ok(()),
            other => Err(io::Error::other(format!(
                "wireguard-go refused its configuration: {other}"
            ))),
        }
    }

    fn route(
        &self,
        namespace: &Namespace,
        networks: [&str; 2],
        own: Option<[&str; 2]>,
    ) -> io::Result<()> {
        let device = self.device;
        namespace.ip(&format!("link set {device} mtu {MTU} up"))?;
        for (place, network) in networks.iter().enumerate() {
            let source = own
                .map(|own| format!(" src {}", own[place]))
                .unwrap_or_default();
            namespace.ip(&format!("route add {network} dev {device}{source}"))?;
        }
        Ok(())
    }
}
