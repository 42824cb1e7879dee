//! The programs: one for each kind of figure.

pub mod bulk;
pub mod connect;
