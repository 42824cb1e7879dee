//! The group's manager as a service: joins of many devices, and the feed of epochs.
//!
//! [`Manager`] owns the store on a thread of its own, which answers many rounds of joins in one commit.
//! [`router`] has the paths of `spec/manager-service.md`. [`ManagerClient`] is the device's side, and
//! [`follow`] brings a group file to what the feed has.

mod client;
mod feed;
mod follow;
mod metrics;
mod pages;
mod routes;
mod worker;

pub use client::ManagerClient;
pub use feed::{BUNDLE_RECORDS, Feed, FeedError, FeedHead};
pub use follow::{FollowError, Followed, follow};
pub use metrics::Metrics;
pub use pages::ManagerPages;
pub use routes::router;
pub use worker::{Manager, ManagerOptions, PUBLISH_LAG, QUEUE_MAX};
