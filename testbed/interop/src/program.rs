//! The program behind our servers: it answers pings and blobs, looks records up and takes them.

use std::collections::VecDeque;
use std::time::Duration;

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{ConnectionId, Event, Reply, Request, User};
use clew_tunnel::engine::server::Server;
use clew_tunnel::record::{Authenticators, Record, Wanted};
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Public;

use crate::adapter::Adapter;
use crate::driver::{Node, wall};

/// The program behind our servers.
#[derive(Default)]
pub struct Program {
    /// U of the peer's client.
    pub user: Option<Public>,
    pub record: Option<Record>,
    pub events: Vec<Event>,
    pub pings: Vec<u32>,
    pub registered: Vec<String>,
    /// Blobs that wait for room.
    pub unsent: VecDeque<Vec<u8>>,
}

impl Program {
    pub fn hear(&mut self, node: &mut Node<Server>, event: Event) {
        let server = &mut node.engine;
        match &event {
            Event::Create(create) => {
                let decision = match (create.service.as_str(), &create.user) {
                    (
                        "echo",
                        User::Key {
                            key,
                            by: Authenticators::BOX,
                        },
                    ) if Some(*key) == self.user => Ok(()),
                    ("for_all", User::Anonymous) => Ok(()),
                    _ => Err(Reason::UnknownService),
                };
                server.decide(create.connection, decision);
            }
            Event::Request {
                tunnel,
                number,
                request,
            } => {
                let reply = self.answer(request, &node.adapter);
                server.reply(*tunnel, *number, reply);
            }
            Event::Readable(connection) => while self.read(server, *connection) {},
            Event::Writable(connection) => self.blobs(server, *connection),
            _ => {}
        }
        self.events.push(event);
    }

    fn answer(&mut self, request: &Request, adapter: &Adapter) -> Reply {
        match request {
            Request::Lookup { hostname, .. } => match &self.record {
                Some(record) if record.cert.body.hostname == hostname.as_bytes() => {
                    Reply::Record(Box::new(record.clone()))
                }
                _ => Reply::Refused(Reason::UnknownHost),
            },
            Request::Register(record) => {
                let stand_in = adapter.book.stand_in.public();
                let wanted = Wanted {
                    hostname: None,
                    now: wall(),
                    cert_lifetime_max: Duration::from_secs(86_400),
                };
                match wanted.verify(record, |cert| cert.body.issuer == stand_in) {
                    Ok(()) => {
                        let name = String::from_utf8_lossy(&record.cert.body.hostname);
                        self.registered.push(name.into_owned());
                        Reply::Taken
                    }
                    Err(reason) => Reply::Refused(reason),
                }
            }
        }
    }

    fn read(&mut self, server: &mut Server, connection: ConnectionId) -> bool {
        let mut ping = None;
        let was_read = server.read(connection, |mut call| {
            match (call.name, call.arguments.next()) {
                ("ping", Some(Value::Number(x))) => ping = Some(x),
                ("blob", Some(Value::Bytes(bytes))) => self.unsent.push_back(bytes.to_vec()),
                _ => {}
            }
        });
        if let Some(x) = ping {
            self.pings.push(x);
            // A number has room where 400 bytes have none.
            let _ = server.write(connection, "pong", |call| call.number(x));
        }
        self.blobs(server, connection);
        was_read
    }

    fn blobs(&mut self, server: &mut Server, connection: ConnectionId) {
        while let Some(bytes) = self.unsent.front()
            && server.write(connection, "blob", |call| call.bytes(bytes)) == Ok(true)
        {
            self.unsent.pop_front();
        }
    }

    pub fn created(&self) -> Option<ConnectionId> {
        self.events.iter().find_map(|event| match event {
            Event::Create(create) if create.service == "echo" => Some(create.connection),
            _ => None,
        })
    }
}
