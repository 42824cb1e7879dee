//! The programs: one for each kind of figure.

pub mod apart;
pub mod bulk;
pub mod connect;
pub mod figure6;
pub mod hold;
pub mod latency;
pub mod loss;
pub mod memory;
