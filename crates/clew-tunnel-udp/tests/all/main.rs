//! Servers and clients on sockets.

mod driver;
mod loopback;
mod restarts;
