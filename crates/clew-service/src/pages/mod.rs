//! What all pages for people share: one layout, one style sheet, strict headers, times in UTC.
//!
//! Pages are written on the server, load nothing from elsewhere, and need no script. All pages of a site
//! stand in one folder, so that their links are relative and hold wherever the folder is.

mod answer;
mod layout;
mod parts;
mod time;

pub(crate) use answer::style;
pub(crate) use layout::{Link, Page, Site, fault};
pub(crate) use parts::{code, facts, newer_and_older, table};
pub(crate) use time::{age, month, utc};

/// The folder of the pages below a service's address.
pub const FOLDER: &str = "pages";
