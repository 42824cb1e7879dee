//! Packet attribution.
#![no_std]
