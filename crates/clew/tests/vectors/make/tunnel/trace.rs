//! Whole runs of a client and a server.

use clew_tunnel::Reason;
use clew_tunnel::engine::client::Target;
use clew_tunnel::record::{Authenticators, Identity, UserSecret};
use clew_tunnel::wire::rpc::Rpc;

use crate::case::Case;
use crate::make::flat;
use crate::make::tunnel::bytes::{public, secret};
use crate::make::tunnel::node::{config, server_address};
use crate::make::tunnel::rogue::rpcs;
use crate::make::tunnel::run::{MS, SECOND};
use crate::make::tunnel::script::{script, script_of};

pub fn all() -> Vec<Case> {
    flat([traces(), refusals(), losses(), moves(), vec![directory()]])
}

/// From the first packet to the last.
fn traces() -> Vec<Case> {
    vec![
        script("trace-plain", "A tunnel with one connection, from its first packet to close(0).", |run| {
            let (tunnel, connection) = run.open();
            run.wait(SECOND);
            run.say(connection, b"second");
            run.wait(SECOND);
            run.client.close(connection);
            run.wait(SECOND);
            run.close(tunnel);
            run.wait(SECOND);
        }),
        user("trace-user", config().authenticators),
        user("trace-user-box", Authenticators::BOX),
        script("trace-first-lost", "The first packet is lost, and sent again.", |run| {
            run.open();
            run.lose = 1;
            run.wait(2 * SECOND);
        }),
        script("trace-answer-lost", "What answers the first packet is lost: it comes again under a current TID.", |run| {
            run.open();
            run.settle();
            run.lose = 2;
            run.wait(3 * SECOND);
        }),
        script("trace-silent", "Nobody answers, and the attempt ends.", |run| {
            run.open();
            run.lose = 100;
            run.wait(21 * SECOND);
        }),
    ]
}

/// What the program refuses, and what the server refuses by itself.
fn refusals() -> Vec<Case> {
    vec![
        script("trace-refused", "A connection is refused, while an RPC on it is on its way.", |run| {
            run.decision = Err(Reason::NotAuthorised);
            let (tunnel, connection) = run.open();
            run.settle();
            run.wait(15 * MS);
            // On its way before the client knows.
            run.decision = Ok(());
            let other = run.connect(tunnel, None);
            run.say(other, b"other");
            run.say(connection, b"late");
            run.wait(SECOND);
        }),
        // What a server refuses by itself.
        script(
            "trace-refusals",
            "Connections that are refused before the program is asked, the server's own record, and requests \
             to who is no directory and no name service.",
            |run| {
                let (key, service) = (public("client"), "echo");
                let ephemeral = run.ephemeral();
                let mut rogue = run.rogue(3);
                let asked =
                    |connection| Rpc::CreateAuthBound { connection, service, user: key, ephemeral, authenticator: &[4; 48] };
                let record = run.server.record();
                let (cert, ecert) = (record.cert.to_bytes(), record.ecert.to_bytes());
                let stale = Rpc::CreateAuthBound { connection: 5, service, user: key, ephemeral: key, authenticator: &[4; 48] };
                let none = Rpc::CreateAuth { connection: 6, service, user: key, authenticator: &[4; 72] };
                let nameless = Rpc::Create { connection: 7, service: "a\nb" };
                let all = [
                    Rpc::Create { connection: 1, service },
                    asked(3),
                    stale,
                    none,
                    nameless,
                    Rpc::CreateAuthGroup { connection: 8 },
                    Rpc::RequestCert { identity: b"\0\x0dfiles.example" },
                    Rpc::RequestCert { identity: b"\0\x0dother.example" },
                    Rpc::RequestCert { identity: b"\x01" },
                    Rpc::GiveCert { cert: &cert, ecert: &ecert },
                ];
                let first = rogue.first((256, 0), &rpcs(&all[..1]));
                let said = run.hand(&first);
                let ack = rogue.open(&said[0]).unwrap().seq;
                for (n, rpc) in all[1..].iter().enumerate() {
                    run.hand(&rogue.packet((257 + n as u32, ack), &rpcs(std::slice::from_ref(rpc))));
                }
                run.wait(100 * MS);
            },
        ),
    ]
}

/// What is lost or comes too late.
fn losses() -> Vec<Case> {
    vec![
        script("trace-closed", "The server closes; what the client sent meanwhile has the TID of no tunnel.", |run| {
            let (_, connection) = run.open();
            run.wait(SECOND);
            run.server_closes();
            run.say(connection, b"late");
            run.wait(SECOND);
        }),
        script("trace-lost", "A packet is lost, those behind it are held, and it comes again.", |run| {
            let (_, connection) = run.open();
            run.wait(SECOND);
            // One packet each: the first is lost, and those behind it show it.
            run.lose = 1;
            for bytes in [b"1", b"2", b"3", b"4"] {
                run.say(connection, bytes);
                run.settle();
            }
            run.wait(SECOND);
        }),
    ]
}

/// Other addresses.
fn moves() -> Vec<Case> {
    vec![
        script("trace-moved", "The client moves: a rekey from a new address, and a puzzle to it.", |run| {
            let (tunnel, connection) = run.open();
            run.wait(SECOND);
            run.move_to(tunnel, "10.0.0.2:5001");
            run.say(connection, b"here");
            run.wait(SECOND);
        }),
        script("trace-moved-rekey", "The client moves while its rekey is unanswered: the same packet from there.", |run| {
            let (tunnel, connection) = run.open();
            run.wait(SECOND);
            run.rekey(tunnel);
            run.lose = 1;
            run.wait(100 * MS);
            run.move_to(tunnel, "10.0.0.2:5001");
            run.say(connection, b"here");
            run.wait(SECOND);
        }),
        script("trace-nat", "A NAT gives the client another port: the tunnel follows it.", |run| {
            let (_, connection) = run.open();
            run.wait(SECOND);
            run.client_at.set_port(5_001);
            run.say(connection, b"here");
            run.wait(SECOND);
        }),
        script(
            "trace-copied",
            "Somebody sends the client's last packet from elsewhere: the tunnel goes there, and comes back.",
            |run| {
                let (_, connection) = run.open();
                run.wait(SECOND);
                run.say(connection, b"x");
                // Up to the echo, whose ack is taken away.
                run.wait(30 * MS);
                run.lose = 1;
                run.wait(20 * MS);
                let stolen = run.last_sent();
                run.hand_from("203.0.113.5:999".parse().unwrap(), &stolen);
                run.wait(4 * SECOND);
                run.server_says(b"still there");
                run.wait(SECOND);
            },
        ),
        // MOVE_RATE.
        script("trace-moves", "A client that changes its port six times at once: the last two are not followed.", |run| {
            let mut rogue = run.rogue(3);
            run.hand(&rogue.first((0, 0), &[]));
            for port in 7_001..=7_006 {
                run.hand_from(([198, 51, 100, 9], port).into(), &rogue.packet((0, 0), &[]));
            }
        }),
    ]
}

fn user(name: &str, authenticators: Authenticators) -> Case {
    let mut config = config();
    config.authenticators = authenticators;
    script_of(config, name, "A user's connections, in the first packet and behind it.", |run| {
        let user = run.client.add_user(UserSecret(secret("run user")));
        let target = run.record();
        let tunnel = run.open_to(target);
        let first = run.connect(tunnel, Some(user));
        run.say(first, b"first");
        run.wait(SECOND);
        let second = run.connect(tunnel, Some(user));
        run.say(second, b"second");
        run.wait(SECOND);
    })
}

fn directory() -> Case {
    let mut config = config();
    config.is_directory = true;
    let comment = "T1 for the directory's own record, and T2 for another host's.";
    script_of(config, "trace-directory", comment, |run| {
        let record = run.server.record();
        let body = record.cert.body;
        let target = Target::Directory { addresses: vec![server_address()], m: 1_024, w: 16, boxing: body.boxing };
        let own = Identity { signing: Some(body.signing), hostname: "files.example" };
        let other = Identity { signing: None, hostname: "other.example" };
        let tunnel = run.open_to(target);
        assert_eq!(run.client.request(tunnel, &own), Ok(true));
        run.wait(100 * MS);
        run.close(tunnel);
        run.wait(100 * MS);
        let target = run.record();
        let tunnel = run.open_to(target);
        assert_eq!(run.client.request(tunnel, &other), Ok(true));
        run.wait(SECOND);
    })
}
