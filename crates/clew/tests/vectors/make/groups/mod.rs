//! The two groups that most cases are about.

pub mod bbs04_group;
pub mod records;
pub mod strange;
pub mod xr_group;
