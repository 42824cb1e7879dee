//! The engine: client and server in virtual time, over a network that loses, repeats and reorders.

mod basics;
mod network;
mod node;
