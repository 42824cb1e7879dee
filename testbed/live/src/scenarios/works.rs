//! Whether the programs that people use work through a system.

use super::{Scene, in_turn};
use crate::bed::Namespace;
use crate::measure::{Load, iperf};
use crate::options::Common;
use crate::process::{Process, need, printed, wait_for_port, wait_until};
use crate::topology::{Beside, Shape};
use clap::ValueEnum;
use clew_record::Record;
use clew_record::pages::FAILED;
use clew_record::table::{BLANK, Table};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A try with the hosts' addresses of a family. Returns `None` if it is not for this network.
type Try = fn(&Scene<'_>, &Tools<'_>, &Ends) -> io::Result<Option<()>>;

/// What tries need beside the system's programs.
struct Tools<'a> {
    tunnel_bench: Option<&'a Path>,
    python: Option<&'a Path>,
}

/// Where the hosts are, as the other one knows it.
struct Ends {
    client: String,
    server: String,
}

const TRIES: [(&str, Try); 10] = [
    ("ping", ping),
    ("ping 1200", ping_long),
    ("from far", from_far),
    ("TCP", tcp),
    ("TCP from far", tcp_from_far),
    ("UDP", udp),
    ("curl", curl),
    ("ssh", ssh),
    ("DNS", dns),
    ("QUIC", quic),
];

/// What columns of the families end in.
const FAMILIES: [&str; 2] = ["", " v6"];

const FILE_BYTES: usize = 3_000_000;

/// Runs all tries for each system in each network. Returns whether all that were made succeeded.
pub fn run(
    common: &Common,
    shapes: &[Shape],
    (tunnel_bench, python): (Option<&Path>, Option<&Path>),
    record: &mut Record,
) -> io::Result<bool> {
    need(&[
        ("curl", "curl"),
        ("python3", "python3"),
        ("ssh", "openssh-client"),
        ("/usr/sbin/sshd", "openssh-server"),
        ("ssh-keygen", "openssh-client"),
    ])?;
    let shapes = if shapes.is_empty() {
        Shape::value_variants()
    } else {
        shapes
    };
    let of = |family: &'static str| TRIES.map(|(name, _)| format!("{name}{family}"));
    let columns = FAMILIES.into_iter().flat_map(of);
    let columns: Vec<String> = ["row".to_owned()].into_iter().chain(columns).collect();
    let title = "What works between the near and the far host";
    let mut table = Table::new("works", title, columns.iter().map(String::as_str));
    let mut all = true;
    for shape in shapes {
        let samples = in_turn(common, *shape, Beside::default(), |scene, samples| {
            let (cells, notes) = tries(
                scene,
                &Tools {
                    tunnel_bench,
                    python,
                },
            );
            all &= notes.is_empty();
            let name = format!("{} {shape:?}", scene.system.name());
            table.row(name.clone(), cells);
            record.notes.extend(notes);
            // Its figures are the cells above.
            samples.add(&name, Vec::new());
            Ok(())
        })?;
        let failed = samples
            .notes
            .into_iter()
            .filter(|note| note.starts_with(FAILED));
        record.notes.extend(failed);
    }
    record.tables.push(table);
    Ok(all)
}

/// The cells of a row, and what went wrong.
fn tries(scene: &Scene<'_>, tools: &Tools<'_>) -> (Vec<&'static str>, Vec<String>) {
    let (mut cells, mut notes) = (Vec::new(), Vec::new());
    let (client, server) = (&scene.running.client, &scene.running.server);
    let ends = |client: &String, server: &String| Ends {
        client: client.clone(),
        server: server.clone(),
    };
    let v6 = client.v6.as_ref().zip(server.v6.as_ref());
    let families = [
        Some(ends(&client.v4, &server.v4)),
        v6.map(|(client, server)| ends(client, server)),
    ];
    for (family, ends) in FAMILIES.iter().zip(families) {
        for (name, attempt) in TRIES {
            let done = ends.as_ref().map(|ends| attempt(scene, tools, ends));
            cells.push(match done {
                Some(Ok(Some(()))) => "yes",
                None | Some(Ok(None)) => BLANK,
                Some(Err(error)) => {
                    let (system, shape) = (scene.system.name(), scene.topology.shape);
                    notes.push(format!("{system} {shape:?}, {name}{family}: {error}"));
                    "no"
                }
            });
        }
    }
    (cells, notes)
}

/// The namespaces of both hosts.
fn hosts<'a>(scene: &'a Scene<'_>) -> (&'a Namespace, &'a Namespace) {
    let (client, server) = (scene.topology.client(), scene.topology.server());
    (client.namespace, server.namespace)
}

fn done<T>(result: io::Result<T>) -> io::Result<Option<()>> {
    result.map(|_| Some(()))
}

fn pings(from: &Namespace, to: &str, more: &[&str]) -> io::Result<Option<()>> {
    let ping = ["ping", "-c", "3", "-i", "0.2", "-W", "2"];
    done(printed(from, &[&ping[..], more, &[to]].concat()))
}

fn ping(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    pings(hosts(scene).0, &ends.server, &[])
}

/// As long as QUIC's first datagrams, and as what IPv6 promises (1280 with both headers): not to be cut.
fn ping_long(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let length = if ends.server.contains(':') {
        "1232"
    } else {
        "1172"
    };
    pings(hosts(scene).0, &ends.server, &["-s", length, "-M", "do"])
}

fn from_far(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    match scene.running.both_ways {
        true => pings(hosts(scene).1, &ends.client, &[]),
        false => Ok(None),
    }
}

fn tcp(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    stream(scene.hosts(), &ends.server, None)
}

fn tcp_from_far(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let [near, far] = scene.hosts();
    match scene.running.both_ways {
        true => stream([far, near], &ends.client, None),
        false => Ok(None),
    }
}

fn udp(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    stream(scene.hosts(), &ends.server, Some(1000))
}

fn stream(
    hosts: [&Namespace; 2],
    address: &str,
    datagrams: Option<usize>,
) -> io::Result<Option<()>> {
    let load = Load {
        time: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        congestion: "cubic".into(),
        parallel: 1,
        rate: 5_000_000,
        datagrams,
    };
    let found = iperf(hosts, address, &load)?;
    match found.bits > 2.5e6 {
        true => Ok(Some(())),
        false => Err(io::Error::other(format!(
            "{:.0} of 5000000 bit/s",
            found.bits
        ))),
    }
}

fn curl(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let ((client, server), address) = (hosts(scene), ends.server.as_str());
    let folder = scene.bed.folder.join("www");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("file"), vec![7; FILE_BYTES])?;
    let folder = folder.to_string_lossy();
    let command = [
        "python3",
        "-m",
        "http.server",
        "8080",
        "--bind",
        address,
        "--directory",
        &folder,
    ];
    let _server = Process::quiet(server, "http.server", &command)?;
    wait_for_port(server, "-t", 8080)?;
    let host = match address.contains(':') {
        true => format!("[{address}]"),
        false => address.to_owned(),
    };
    let url = format!("http://{host}:8080/file");
    let command = [
        "curl",
        "-sS",
        "-m",
        "20",
        "-o",
        "/dev/null",
        "-w",
        "%{size_download}",
        &url,
    ];
    let size = printed(client, &command)?;
    match size.trim() == FILE_BYTES.to_string() {
        true => Ok(Some(())),
        false => Err(io::Error::other(format!("{size} of {FILE_BYTES} bytes"))),
    }
}

fn ssh(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let ((client, server), address) = (hosts(scene), ends.server.as_str());
    let path = |name: &str| scene.bed.folder.join(name).to_string_lossy().into_owned();
    let (key, config) = (path("ssh_key"), path("sshd_config"));
    if !Path::new(&key).exists() {
        printed(
            server,
            &["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &key],
        )?;
    }
    let lines = [
        format!("HostKey {key}\nAuthorizedKeysFile {key}.pub\nPidFile none\nPort 2222"),
        "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n".into(),
    ];
    fs::write(&config, lines.join("\n"))?;
    // The folder that sshd wants for its unprivileged part.
    fs::create_dir_all("/run/sshd")?;
    let _server = Process::quiet(
        server,
        "sshd",
        &["/usr/sbin/sshd", "-D", "-e", "-f", &config],
    )?;
    wait_for_port(server, "-t", 2222)?;
    let target = format!("root@{address}");
    let command = [
        "ssh",
        "-q",
        "-p",
        "2222",
        "-i",
        &key,
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=10",
        &target,
        "echo",
        "clewbed",
    ];
    match printed(client, &command)?.trim() {
        "clewbed" => Ok(Some(())),
        other => Err(io::Error::other(format!("ssh printed {other}"))),
    }
}

fn dns(scene: &Scene<'_>, _: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let ((client, server), address) = (hosts(scene), ends.server.as_str());
    let program = include_str!("dns.py");
    let serve = ["python3", "-c", program, "serve", address];
    let _server = Process::start(server, "dns", &serve)?;
    wait_for_port(server, "-u", 53)?;
    done(printed(client, &["python3", "-c", program, "ask", address]))
}

fn quic(scene: &Scene<'_>, tools: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let ((client, server), address) = (hosts(scene), ends.server.as_str());
    let Some(program) = tools.tunnel_bench else {
        return quic_of_python(scene, tools, ends);
    };
    let program = program.to_string_lossy();
    let file = scene.bed.folder.join("quinn");
    // Another system's server left it.
    let _ = fs::remove_file(&file);
    let path = file.to_string_lossy();
    let _server = Process::start(
        server,
        "quinn",
        &[&program, "serve", "quinn", address, &path],
    )?;
    wait_until("the server of QUIC", Duration::from_secs(10), || {
        Ok(file.exists())
    })?;
    done(printed(
        client,
        &[&program, "fetch", "quinn", &path, "--bytes", "1000000"],
    ))
}

/// The same with aioquic, a QUIC that another Python brings.
fn quic_of_python(scene: &Scene<'_>, tools: &Tools<'_>, ends: &Ends) -> io::Result<Option<()>> {
    let ((client, server), address) = (hosts(scene), ends.server.as_str());
    let Some(python) = tools.python else {
        return Ok(None);
    };
    let (python, program) = (python.to_string_lossy(), include_str!("quic.py"));
    let folder = scene.bed.folder.to_string_lossy();
    let serve = [&*python, "-c", program, "serve", address, &folder];
    let _server = Process::start(server, "aioquic", &serve)?;
    wait_for_port(server, "-u", 4433)?;
    done(printed(
        client,
        &[&python, "-c", program, "fetch", address, &folder],
    ))
}
