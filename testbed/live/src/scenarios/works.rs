//! Whether the programs that people use work through a system.

use super::{Scene, in_turn};
use crate::bed::Namespace;
use crate::measure::{Load, iperf};
use crate::options::Common;
use crate::process::{Process, need, printed, wait_for_port, wait_until};
use crate::topology::{Beside, Shape};
use clap::ValueEnum;
use clew_record::Record;
use clew_record::table::{BLANK, Table};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A try. Returns `None` if it is not for this network.
type Try = fn(&Scene<'_>, &Tools<'_>) -> io::Result<Option<()>>;

/// What tries need beside the system's programs.
struct Tools<'a> {
    tunnel_bench: Option<&'a Path>,
}

const TRIES: [(&str, Try); 10] = [
    ("ping", ping_v4),
    ("ping6", ping_v6),
    ("ping 1200", ping_long),
    ("from far", from_far),
    ("TCP", tcp),
    ("UDP", udp),
    ("curl", curl),
    ("ssh", ssh),
    ("DNS", dns),
    ("QUIC", quic),
];

const FILE_BYTES: usize = 3_000_000;

/// Runs all tries for each system in each network. Returns whether all that were made succeeded.
pub fn run(
    common: &Common,
    shapes: &[Shape],
    tunnel_bench: Option<&Path>,
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
    let columns = ["row"].into_iter().chain(TRIES.map(|(name, _)| name));
    let title = "What works between the near and the far host";
    let mut table = Table::new("works", title, columns);
    let mut all = true;
    for shape in shapes {
        in_turn(common, *shape, Beside::default(), |scene, _| {
            let (cells, notes) = tries(scene, &Tools { tunnel_bench });
            all &= notes.is_empty();
            table.row(format!("{} {shape:?}", scene.system.name()), cells);
            record.notes.extend(notes);
            Ok(())
        })?;
    }
    record.tables.push(table);
    Ok(all)
}

/// The cells of a row, and what went wrong.
fn tries(scene: &Scene<'_>, tools: &Tools<'_>) -> (Vec<&'static str>, Vec<String>) {
    let mut notes = Vec::new();
    let cells = TRIES
        .iter()
        .map(|(name, attempt)| match attempt(scene, tools) {
            Ok(Some(())) => "yes",
            Ok(None) => BLANK,
            Err(error) => {
                let (system, shape) = (scene.system.name(), scene.topology.shape);
                notes.push(format!("{system} {shape:?}, {name}: {error}"));
                "no"
            }
        });
    (cells.collect(), notes)
}

/// The hosts, and the far host's address as the near host uses it.
fn near<'a>(scene: &'a Scene<'_>) -> (&'a Namespace, &'a Namespace, &'a str) {
    let (client, server) = (scene.topology.client(), scene.topology.server());
    (client.namespace, server.namespace, &scene.running.server.v4)
}

fn done<T>(result: io::Result<T>) -> io::Result<Option<()>> {
    result.map(|_| Some(()))
}

fn ping_v4(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, _, address) = near(scene);
    done(printed(
        client,
        &["ping", "-c", "3", "-i", "0.2", "-W", "2", address],
    ))
}

fn ping_v6(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, _, _) = near(scene);
    let Some(address) = &scene.running.server.v6 else {
        return Ok(None);
    };
    // 1280 bytes with both headers: what IPv6 promises.
    let command = [
        "ping", "-c", "3", "-i", "0.2", "-W", "2", "-s", "1232", "-M", "do", address,
    ];
    done(printed(client, &command))
}

/// As long as QUIC's first datagrams, not to be cut.
fn ping_long(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, _, address) = near(scene);
    let command = [
        "ping", "-c", "3", "-i", "0.2", "-W", "2", "-s", "1172", "-M", "do", address,
    ];
    done(printed(client, &command))
}

fn from_far(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (_, server, _) = near(scene);
    if !scene.running.both_ways {
        return Ok(None);
    }
    done(printed(
        server,
        &[
            "ping",
            "-c",
            "3",
            "-i",
            "0.2",
            "-W",
            "2",
            &scene.running.client.v4,
        ],
    ))
}

fn tcp(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    stream(scene, None)
}

fn udp(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    stream(scene, Some(1000))
}

fn stream(scene: &Scene<'_>, datagrams: Option<usize>) -> io::Result<Option<()>> {
    let (_, _, address) = near(scene);
    let load = Load {
        time: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        congestion: "cubic".into(),
        parallel: 1,
        rate: 5_000_000,
        datagrams,
    };
    let found = iperf(scene.hosts(), address, &load)?;
    match found.bits > 2.5e6 {
        true => Ok(Some(())),
        false => Err(io::Error::other(format!(
            "{:.0} of 5000000 bit/s",
            found.bits
        ))),
    }
}

fn curl(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, server, address) = near(scene);
    let folder = scene.bed.folder.join("www");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("file"), vec![7; FILE_BYTES])?;
    let folder = folder.to_string_lossy();
    let command = [
        "python3",
        "-m",
        "http.server",
        "8080",
        "--directory",
        &folder,
    ];
    let _server = Process::quiet(server, "http.server", &command)?;
    wait_for_port(server, "-t", 8080)?;
    let url = format!("http://{address}:8080/file");
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

fn ssh(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, server, address) = near(scene);
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

fn dns(scene: &Scene<'_>, _: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, server, address) = near(scene);
    let program = include_str!("dns.py");
    let serve = ["python3", "-c", program, "serve", address];
    let _server = Process::start(server, "dns", &serve)?;
    wait_for_port(server, "-u", 53)?;
    done(printed(client, &["python3", "-c", program, "ask", address]))
}

fn quic(scene: &Scene<'_>, tools: &Tools<'_>) -> io::Result<Option<()>> {
    let (client, server, address) = near(scene);
    let Some(program) = tools.tunnel_bench else {
        return Ok(None);
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
