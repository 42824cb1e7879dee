//! The engine: client and server in virtual time, over a network that loses, repeats and reorders.

mod alone;
mod basics;
mod bounds;
mod eavesdropper;
mod header;
mod impostor;
mod liveness;
mod network;
mod node;
mod paths;
mod peers;
mod reasons;
mod restarts;
mod rogue;
mod services;
mod solutions;
mod storm;
mod unproven;
mod visits;
mod watch;
