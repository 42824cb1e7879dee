//! A trustee's own service: pages for its operator (`spec/pages.md` section 5), and notices of work.
//!
//! Neither decides anything. What a trustee has, and what its operator orders, goes through a [`Docket`], which
//! the program implements over the trustee's directory: the same code as its commands.

mod docket;
mod metrics;
pub mod notices;
mod pages;

pub use docket::{Docket, DocketError, Kind, Matter, Ordered, Packet, Packets, Standing, Word};
pub use metrics::Metrics;
pub use pages::TrusteePages;

#[cfg(test)]
mod testing;
