//! What all pages for people share: one layout, one style sheet, strict headers, times in UTC.
//!
//! Pages are written on the server, load nothing from elsewhere, and need no script. All pages of a site
//! stand in one folder, so that their links are relative and hold wherever the folder is.

mod answer;
mod client;
pub(crate) mod entrance;
mod layout;
mod login;
mod parts;
mod time;

pub(crate) use answer::{page_again, style};
pub use client::{LoginError, link};
pub(crate) use entrance::{Guarded, Guest};
pub(crate) use layout::{Link, Page, Site, fault};
#[cfg(test)]
pub(crate) use login::ATTEMPTS_MAX;
pub(crate) use login::{Entered, Logins, Refused, SESSION_TIME};
pub(crate) use parts::{code, facts, newer_and_older, table};
pub(crate) use time::{age, month, utc};

/// The folder of the pages below a service's address.
pub const FOLDER: &str = "pages";
