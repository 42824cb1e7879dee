//! The rule that fills a queue, for kernels whose nftables have no `queue` but the older target of
//! iptables. It stands in a table of nftables like any other rule, and goes with it.

use super::Netlink;
use super::message::{Message, attribute, nested};
use nix::libc;
use std::io;

/// nftables' subsystem, and messages of it.
const SUBSYSTEM: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

/// Attributes of tables, chains and rules: the names that they have, and what a rule does.
mod name {
    pub(super) const OF_TABLE: u16 = 1;
    pub(super) const TABLE_OF_CHAIN: u16 = 1;
    pub(super) const OF_CHAIN: u16 = 3;
    pub(super) const TABLE_OF_RULE: u16 = 1;
    pub(super) const CHAIN_OF_RULE: u16 = 2;
    pub(super) const EXPRESSIONS: u16 = 4;
    pub(super) const ELEMENT: u16 = 1;
    pub(super) const OF_EXPRESSION: u16 = 1;
    pub(super) const DATA: u16 = 2;
    pub(super) const OF_TARGET: u16 = 1;
    pub(super) const REVISION: u16 = 2;
    pub(super) const INFO: u16 = 3;
}

/// Both versions of IP.
const INET: u8 = 1;

/// The revision of the target that this kernel and those since 3.10 have.
const REVISION: u32 = 3;

/// If no process has the queue, packets go on to later rules.
const BYPASS: u16 = 1;

/// Appends a rule that queues all packets to a chain of a table of family `inet`.
///
/// # Errors
/// The kernel has no such target, or the chain is not there.
pub(crate) fn add_queue_rule(table: &str, chain: &str, queue: u16) -> io::Result<()> {
    let mut out = Vec::new();
    begin(&mut out);
    rule(&mut out, table, chain, queue);
    Message::begin(&mut out, libc::NFNL_MSG_BATCH_END as u16, 0, 0, SUBSYSTEM).end();
    ask(&out)
}

/// Tries whether the kernel would take such a rule, and changes nothing.
///
/// # Errors
/// It would not, or this process may not.
pub(crate) fn try_queue_rule(queue: u16) -> io::Result<()> {
    let (table, chain) = ("clew_try", "queue");
    let mut out = Vec::new();
    begin(&mut out);
    let create = libc::NLM_F_CREATE;
    let mut message = Message::begin(&mut out, NEW_TABLE, create, INET, 0);
    message.attribute(name::OF_TABLE, &text(table));
    message.end();
    let mut message = Message::begin(&mut out, NEW_CHAIN, create, INET, 0);
    message.attribute(name::TABLE_OF_CHAIN, &text(table));
    message.attribute(name::OF_CHAIN, &text(chain));
    message.end();
    rule(&mut out, table, chain, queue);
    // Without its end the kernel checks a batch, and undoes it.
    ask(&out)
}

fn ask(batch: &[u8]) -> io::Result<()> {
    let netlink = Netlink::open()?;
    netlink.send(batch)?;
    netlink.answers()
}

fn begin(out: &mut Vec<u8>) {
    Message::begin(out, libc::NFNL_MSG_BATCH_BEGIN as u16, 0, 0, SUBSYSTEM).end();
}

fn rule(out: &mut Vec<u8>, table: &str, chain: &str, queue: u16) {
    // struct xt_NFQ_info_v3: queue, how many queues, flags.
    let info = [queue, 1, BYPASS, 0].map(u16::to_ne_bytes).concat();
    let mut target = attribute(name::OF_TARGET, &text("NFQUEUE"));
    target.extend(attribute(name::REVISION, &REVISION.to_be_bytes()));
    target.extend(attribute(name::INFO, &info));
    let mut expression = attribute(name::OF_EXPRESSION, &text("target"));
    expression.extend(nested(name::DATA, &target));
    let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_APPEND;
    let mut message = Message::begin(out, NEW_RULE, flags, INET, 0);
    message.attribute(name::TABLE_OF_RULE, &text(table));
    message.attribute(name::CHAIN_OF_RULE, &text(chain));
    let list = nested(name::ELEMENT, &expression);
    message.append(&nested(name::EXPRESSIONS, &list));
    message.end();
}

/// A text with the zero that ends it.
fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}
