//! A client's tickets, counted: whoever wants to know whether a row resumes can see it, and a client
//! whose answer arrives before its ticket can wait for that before it closes.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// How many tickets a rustls server sends.
const EACH: u64 = 2;

/// Tickets kept; new ones replace old ones.
const KEPT: usize = 64;

/// Whose connection is broken gets no ticket.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tickets of one server.
#[derive(Debug, Default)]
pub struct Tickets {
    stock: Mutex<Stock>,
    came: Notify,
}

#[derive(Debug, Default)]
struct Stock {
    tickets: VecDeque<Tls13ClientSessionValue>,
    /// How many came.
    came: u64,
    /// How many will have come once those come that are being waited for.
    expected: u64,
}

impl Tickets {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.stock().tickets.len()
    }

    /// A connection is made: what [`Tickets::wait`] then waits for are its tickets.
    pub fn expect(&self) -> u64 {
        let mut stock = self.stock();
        stock.expected += EACH;
        stock.expected
    }

    /// Waits until so many came. Servers send them in the order of connections.
    pub async fn wait(&self, expected: u64) {
        let come = async {
            loop {
                let came = self.came.notified();
                if self.stock().came >= expected {
                    break;
                }
                came.await;
            }
        };
        if tokio::time::timeout(PATIENCE, come).await.is_err() {
            let mut stock = self.stock();
            stock.came = stock.came.max(expected);
        }
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().expect("nothing panics with the lock")
    }
}

impl ClientSessionStore for Tickets {
    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut stock = self.stock();
        stock.came += 1;
        stock.tickets.push_back(ticket);
        if stock.tickets.len() > KEPT {
            stock.tickets.pop_front();
        }
        drop(stock);
        self.came.notify_waiters();
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.stock().tickets.pop_back()
    }

    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
}
