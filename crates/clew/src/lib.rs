//! The program `clew`: commands, captures, clocks, files and terminals.

pub mod capture;
pub mod output;
