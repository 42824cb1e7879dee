//! Flows from sender to receiver: over a line that loses, exchanges, repeats and changes packets,
//! and against somebody who means it.
mod attack;
mod coded;
mod effs;
mod format;
mod line;
mod manifests;
mod rules;
mod setup;
