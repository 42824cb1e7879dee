//! Requests to directory and name servers: `spec/tunnel.md` section 12.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::channel::Channel;
use crate::engine::event::{Event, Reply, Request};
use crate::limits::{CONTROL_MAX, LOOKUPS};
use crate::reason::Reason;
use crate::record::{Identity, Record};
use crate::wire::rpc::Rpc;

/// Requests in their order, until they are answered.
#[derive(Debug, Default)]
pub(super) struct Requests {
    all: VecDeque<Slot>,
    drawn: u64,
}

#[derive(Debug)]
enum Slot {
    /// The program has not answered yet.
    Waiting(u64),
    /// To be sent, when those before it were.
    Ready(Reply),
    /// Refused at once, so many in a row.
    Refused(u32),
}

impl Requests {
    fn waiting(&self) -> usize {
        let refused = |slot: &&Slot| matches!(slot, Slot::Refused(_));
        self.all.len() - self.all.iter().filter(refused).count()
    }

    /// Whether all were answered.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn refuse(&mut self) {
        match self.all.back_mut() {
            Some(Slot::Refused(count)) => *count = count.saturating_add(1),
            _ => self.all.push_back(Slot::Refused(1)),
        }
    }

    /// Writes the answers whose turn it is.
    pub(super) fn flush(&mut self, channel: &mut Channel) {
        while channel.control_bytes() < CONTROL_MAX {
            match self.all.pop_front() {
                None => return,
                Some(Slot::Ready(reply)) => write(channel, &reply),
                Some(Slot::Refused(count)) => {
                    if count > 1 {
                        self.all.push_front(Slot::Refused(count - 1));
                    }
                    channel.control(&Rpc::Refuse { connection: 0 });
                }
                Some(waiting) => return self.all.push_front(waiting),
            }
        }
    }
}

fn write(channel: &mut Channel, reply: &Reply) {
    match reply {
        Reply::Record(record) => channel.control(&Rpc::GiveCert {
            cert: &record.cert.to_bytes(),
            ecert: &record.ecert.to_bytes(),
        }),
        Reply::Taken => channel.control(&Rpc::Ok),
        Reply::Refused(_) => channel.control(&Rpc::Refuse { connection: 0 }),
    }
}

impl Tunnel {
    /// requestCert.
    ///
    /// # Errors
    /// `not-allowed` in a tunnel under the boxing key, which it closes.
    pub(super) fn request(&mut self, shared: &mut Shared, identity: &[u8]) -> Result<(), Reason> {
        let parsed = Identity::parse(identity);
        let is_own = parsed
            .as_ref()
            .is_ok_and(|identity| shared.keys.is_own(identity.signing, identity.hostname));
        if self.purpose.until().is_some() && !is_own {
            return Err(Reason::NotAllowed);
        }
        match parsed {
            Err(reason) => self.refuse_request(shared, reason),
            Ok(_) if is_own => {
                let own = Reply::Record(Box::new(shared.keys.record()));
                if self.admit(shared).is_some() {
                    self.requests.all.push_back(Slot::Ready(own));
                }
            }
            Ok(_) if !shared.config.is_directory => {
                self.refuse_request(shared, Reason::NotAllowed);
            }
            Ok(identity) => {
                let request = Request::Lookup {
                    signing: identity.signing,
                    hostname: String::from(identity.hostname),
                };
                self.ask(shared, request);
            }
        }
        self.requests.flush(&mut self.channel);
        Ok(())
    }

    /// giveCert.
    pub(super) fn register(&mut self, shared: &mut Shared, cert: &[u8], ecert: &[u8]) {
        if !shared.config.is_name_service {
            self.refuse_request(shared, Reason::NotAllowed);
        } else {
            match Record::of(cert, ecert) {
                Err(reason) => self.refuse_request(shared, reason),
                Ok(record) => self.ask(shared, Request::Register(Box::new(record))),
            }
        }
        self.requests.flush(&mut self.channel);
    }

    fn refuse_request(&mut self, shared: &mut Shared, reason: Reason) {
        shared.common.counters.count(reason);
        self.requests.refuse();
    }

    /// A number for a request that fits.
    fn admit(&mut self, shared: &mut Shared) -> Option<u64> {
        if self.requests.waiting() >= LOOKUPS {
            self.refuse_request(shared, Reason::Busy);
            return None;
        }
        self.requests.drawn += 1;
        Some(self.requests.drawn)
    }

    fn ask(&mut self, shared: &mut Shared, request: Request) {
        let Some(number) = self.admit(shared) else {
            return;
        };
        self.requests.all.push_back(Slot::Waiting(number));
        shared.common.events.push_back(Event::Request {
            tunnel: self.channel.id,
            number,
            request,
        });
    }

    /// The program's answer. False if nobody waits for it.
    pub(super) fn reply(&mut self, shared: &mut Shared, number: u64, reply: Reply) -> bool {
        let waits = |slot: &&mut Slot| matches!(slot, Slot::Waiting(n) if *n == number);
        let Some(slot) = self.requests.all.iter_mut().find(waits) else {
            return false;
        };
        if let Reply::Refused(reason) = &reply {
            shared.common.counters.count(*reason);
        }
        *slot = Slot::Ready(reply);
        self.requests.flush(&mut self.channel);
        true
    }
}
