//! The daemon `clew up` on both sides. What arrives unsigned is dropped.

use super::{Addresses, Counts, Running, System};
use crate::bed::{Bed, Namespace};
use crate::process::{Process, built, output, printed_here, wait_until};
use crate::topology::{FAR_INNER, FAR_OUTER, NEAR_INNER, NEAR_OUTER, Shape, Topology};
use clap::ValueEnum;
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A daemon with keys of a scheme, and what one signature covers.
pub struct Clew {
    pub name: &'static str,
    pub about: &'static str,
    pub scheme: &'static str,
    pub mode: &'static str,
    /// The largest block or window, in packets.
    pub block: u16,
    /// Windows follow what is in flight.
    pub is_adaptive: bool,
    /// How signed packets travel. Those other than `udp-tunnel` are for packets between both ends of the
    /// line.
    pub carrier: &'static str,
}

/// What it is built as.
pub(super) const PROGRAM: &str = "clew";
const FORGE: &str = "examples/forge";
/// How many forged datagrams the attacker sends in turn.
const FORGED: &str = "64";
/// Carriers.
pub const TUNNEL: &str = "udp-tunnel";
pub const TRANSPORT: &str = "udp-transport";
pub const TRAILER: &str = "trailer";
/// Room for the longest trailer behind the smallest packet that IPv6 needs whole.
const TRAILED_MTU: u16 = 1_800;
const PORT: u16 = 4_909;
/// Precursors of each signer, all there before the first packet.
static POOL: AtomicU32 = AtomicU32::new(16_384);
/// How long filling it may take on a busy machine.
const FILL: Duration = Duration::from_secs(180);
/// Where keys are for as long as this program runs.
const KEYS: &str = "/run/clewbed-keys";
/// The user who runs the data plane, on every Linux.
const NOBODY: u32 = 65_534;

/// The schemes whose groups this run has made.
static MADE: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Says how many precursors signers of this run have.
pub fn set_pool(count: u32) {
    POOL.store(count, Ordering::Relaxed);
}

/// How many precursors signers of this run have.
pub(super) fn pool() -> u32 {
    POOL.load(Ordering::Relaxed)
}

impl System for Clew {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn is_default(&self) -> bool {
        self.name == "clew"
    }

    fn shapes(&self) -> &'static [Shape] {
        match self.carrier {
            TUNNEL => Shape::value_variants(),
            _ => &[Shape::Pair],
        }
    }

    fn port(&self) -> Option<u16> {
        (self.carrier != TRAILER).then_some(PORT)
    }

    fn leaves_packets(&self) -> bool {
        self.carrier == TRAILER
    }

    fn available(&self) -> io::Result<()> {
        built(PROGRAM).map(drop)
    }

    fn start(&self, bed: &Bed, topology: &Topology) -> io::Result<Running> {
        let (client, server) = (topology.client(), topology.server());
        let keys = keys(self.scheme)?;
        if self.carrier != TUNNEL {
            return self.start_between_ends(bed, topology, &keys);
        }
        let near = Daemon {
            side: "near",
            keys: &keys,
            peer: FAR_INNER,
            endpoint: Some(FAR_OUTER[0]),
        };
        // It learns where the near one is: that may be behind a router.
        let far = Daemon {
            side: "far",
            keys: &keys,
            peer: NEAR_INNER,
            endpoint: None,
        };
        let own = (topology.shape != Shape::Gateway).then_some([&*client.v4, &client.v6]);
        let far_own = Some([&*server.v4, &server.v6]);
        let sides = [(near, topology.near(), own), (far, topology.far(), far_own)];
        let start = |(daemon, namespace, own): &(Daemon<'_>, &Namespace, _)| {
            daemon.start(bed, namespace, self, *own)
        };
        let [near, far] = [start(&sides[0])?, start(&sides[1])?];
        for (daemon, namespace, _) in &sides {
            daemon.wait_for_pool(namespace)?;
        }
        Ok(Running {
            near: vec![near],
            far: vec![far],
            client: (&client).into(),
            server: (&server).into(),
            both_ways: true,
        })
    }

    fn forged(&self, bed: &Bed) -> io::Result<Option<PathBuf>> {
        let (folder, program) = (keys(self.scheme)?, built(FORGE)?);
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let (key, group) = (path("forger.key"), path("group.clew"));
        let program = program.to_string_lossy();
        let mut command = vec![&*program, &key, &group];
        command.extend(match self.leaves_packets() {
            true => ["198.18.0.1:9", "198.18.0.2:9", FORGED, TRAILER].as_slice(),
            false => ["10.78.1.1:9", "10.78.2.1:9", FORGED].as_slice(),
        });
        let lines = printed_here(&command)?;
        let file = bed.folder.join("forged");
        fs::write(&file, lines)?;
        Ok(Some(file))
    }

    fn counts(&self, topology: &Topology) -> io::Result<Option<[Counts; 2]>> {
        let [near, far] = [("near", topology.near()), ("far", topology.far())];
        let of = |(side, namespace): (&str, &Namespace)| status(side, namespace).map(|s| read(&s));
        Ok(Some([of(near)?, of(far)?]))
    }
}

impl Clew {
    /// Both daemons, for packets between the addresses of the line.
    fn start_between_ends(
        &self,
        bed: &Bed,
        topology: &Topology,
        keys: &Path,
    ) -> io::Result<Running> {
        let has_endpoint = self.carrier != TRAILER;
        let near = Daemon {
            side: "near",
            keys,
            peer: ["198.18.0.2/32", "fd00:18::2/128"],
            endpoint: has_endpoint.then_some(FAR_OUTER[0]),
        };
        let far = Daemon {
            side: "far",
            keys,
            peer: ["198.18.0.1/32", "fd00:18::1/128"],
            endpoint: None,
        };
        let ends = [topology.near(), topology.far()].into_iter();
        for namespace in ends.chain(topology.attacker().ok()) {
            let mtu = if has_endpoint { 1_500 } else { TRAILED_MTU };
            namespace.ip(&format!("link set net0 mtu {mtu}"))?;
        }
        let near_runs = near.start(bed, topology.near(), self, None)?;
        let far_runs = far.start(bed, topology.far(), self, None)?;
        near.wait_for_pool(topology.near())?;
        far.wait_for_pool(topology.far())?;
        let addresses = |[v4, v6]: [&str; 2]| Addresses {
            v4: v4.into(),
            v6: Some(v6.into()),
        };
        Ok(Running {
            near: vec![near_runs],
            far: vec![far_runs],
            client: addresses(NEAR_OUTER),
            server: addresses(FAR_OUTER),
            both_ways: true,
        })
    }
}

/// A group of a scheme and a key for each side, made once in a run.
pub fn keys(scheme: &'static str) -> io::Result<PathBuf> {
    let folder = Path::new(KEYS).join(scheme);
    let mut made = MADE.lock().unwrap_or_else(|poison| poison.into_inner());
    if made.contains(&scheme) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let program = built(PROGRAM)?;
    let program = program.to_string_lossy();
    let group = folder.join("fleet").to_string_lossy().into_owned();
    printed_here(&[
        &program, "group", "create", &group, "--name", "fleet", "--scheme", scheme,
    ])?;
    for side in ["near", "far"] {
        let key = folder.join(format!("{side}.key"));
        let path = key.to_string_lossy();
        printed_here(&[&program, "enrol", &group, side, "-o", &path])?;
        chown(&key, Some(NOBODY), Some(NOBODY))?;
    }
    // A machine of another group, which claims to be of this one.
    let other = folder.join("other").to_string_lossy().into_owned();
    printed_here(&[
        &program, "group", "create", &other, "--name", "other", "--scheme", scheme,
    ])?;
    let key = folder.join("forger.key").to_string_lossy().into_owned();
    printed_here(&[&program, "enrol", &other, "forger", "-o", &key])?;
    let public = folder.join("group.clew");
    fs::copy(folder.join("fleet/public/group.clew"), &public)?;
    fs::set_permissions(&public, fs::Permissions::from_mode(0o644))?;
    made.push(scheme);
    Ok(folder)
}

struct Daemon<'a> {
    side: &'static str,
    keys: &'a Path,
    peer: [&'static str; 2],
    endpoint: Option<&'static str>,
}

impl Daemon<'_> {
    fn start(
        &self,
        bed: &Bed,
        namespace: &Namespace,
        clew: &Clew,
        own: Option<[&str; 2]>,
    ) -> io::Result<Process> {
        let path = bed.folder.join(format!("{}.toml", name(self.side)));
        fs::write(&path, self.configuration(clew))?;
        let program = built(PROGRAM)?;
        let (program, path) = (program.to_string_lossy(), path.to_string_lossy());
        // One that was killed leaves its place.
        output(namespace, &[&program, "down", &name(self.side)])?;
        // The group of this run has the name of another one's.
        let remembered = Path::new(STATE).join(name(self.side));
        match fs::remove_dir_all(remembered) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.before(namespace, own)?;
        let mut process = Process::start(namespace, "clew", &[&program, "up", &path])?;
        process.ends_gently();
        let is_up = || {
            if !process.runs() {
                return Err(io::Error::other("clew up ended"));
            }
            // Its rules come last.
            let rules = output(namespace, &["ip", "rule", "show"])?;
            let is_set_up = String::from_utf8_lossy(&rules.stdout).contains("4909");
            Ok(is_set_up && status(self.side, namespace).is_ok())
        };
        wait_until("clew up", Duration::from_secs(60), is_up)?;
        Ok(process)
    }

    /// Routes as a host has them without the daemon, which takes its own addresses from there.
    fn before(&self, namespace: &Namespace, own: Option<[&str; 2]>) -> io::Result<()> {
        let Some(own) = own else { return Ok(()) };
        for (network, own) in self.peer.iter().zip(own) {
            namespace.ip(&format!("route add {network} dev lo src {own}"))?;
        }
        Ok(())
    }

    fn configuration(&self, clew: &Clew) -> String {
        let (mode, block, carrier) = (clew.mode, clew.block, clew.carrier);
        let path_mtu = match carrier {
            TRAILER => format!("path-mtu = {TRAILED_MTU}\n"),
            _ => String::new(),
        };
        let keys = self.keys.display();
        let [v4, v6] = self.peer;
        // Clue's receivers verify a window at once; our default does not.
        let whole = match mode {
            "window" => "whole-windows = true\n",
            _ => "",
        };
        let k = match clew.is_adaptive {
            true => "k = \"adaptive\"\n",
            false => "",
        };
        let endpoint = self.endpoint.map(|at| format!("endpoint = \"{at}\"\n"));
        format!(
            "key = \"{keys}/{}.key\"\nuser = \"nobody\"\ninbound = \"enforce\"\noutbound = \"require\"\n\
             {whole}carrier = \"{carrier}\"\n{path_mtu}[signing]\nmode = \"{mode}\"\nblock = {block}\npool = {}\n{k}\
             [[peer]]\nprefixes = [\"{v4}\", \"{v6}\"]\n{}group = \"{keys}/group.clew\"\n",
            self.side,
            pool(),
            endpoint.unwrap_or_default()
        )
    }

    /// What is measured begins with a full pool.
    fn wait_for_pool(&self, namespace: &Namespace) -> io::Result<()> {
        let is_full = || Ok(read(&status(self.side, namespace)?).ready >= f64::from(pool()));
        wait_until("a full pool of precursors", FILL, is_full)
    }
}

/// What daemons keep for the next start.
const STATE: &str = "/var/lib/clew-live";

/// The daemon of a side.
fn name(side: &str) -> String {
    format!("bench-{side}")
}

fn status(side: &str, namespace: &Namespace) -> io::Result<Value> {
    let program = built(PROGRAM)?;
    let command = [&program.to_string_lossy(), "status", &*name(side), "--json"];
    let output = output(namespace, &command)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(said));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn read(status: &Value) -> Counts {
    let figure = |path: &str| status.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let dropped = [
        "/outbound/unsent",
        "/outbound/dropped",
        "/inbound/refused",
        "/inbound/dropped",
    ];
    let of = |path: &&str| status.pointer(path).and_then(Value::as_object);
    let dropped = dropped.iter().filter_map(of).flatten();
    Counts {
        signed: figure("/outbound/signatures"),
        verified: figure("/inbound/signatures"),
        verification: figure("/inbound/verification_ns") / 1e9,
        ready: figure("/pool/ready"),
        prepared: figure("/pool/prepared"),
        online: figure("/outbound/online"),
        dropped: dropped.filter_map(|(_, count)| count.as_f64()).sum(),
        unread: figure("/inbound/dropped/socket-full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let status = r#"{"outbound":{"signatures":7,"online":1,"unsent":{"late":2},"dropped":{"no-peer":1}},
            "inbound":{"signatures":9,"verification_ns":2e9,"refused":{"off":3},"dropped":{"socket-full":4}},
            "pool":{"ready":4,"prepared":5}}"#;
        let expected = Counts {
            signed: 7.0,
            verified: 9.0,
            verification: 2.0,
            ready: 4.0,
            prepared: 5.0,
            online: 1.0,
            dropped: 10.0,
            unread: 4.0,
        };
        assert_eq!(read(&serde_json::from_str(status).unwrap()), expected);
    }
}
