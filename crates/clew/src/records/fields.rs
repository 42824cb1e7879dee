//! What all formats say about a packet's verdict and trailer, under the same names.

use super::Finding;
use crate::{clock, report};
use clew_packet::Block;
use clew_wire::Hex;
use serde_json::{Value as Json, json};

/// A member of a JSON object, or a column of a log.
pub struct Field {
    /// The name everywhere.
    pub name: &'static str,
    /// Its type in Zeek's logs.
    pub kind: &'static str,
    /// The value, where there is one.
    pub of: fn(&Finding<'_>) -> Option<Value>,
}

/// A value that each format writes in its own way.
pub enum Value {
    /// A word, or an id in hexadecimal.
    Text(String),
    /// A number.
    Count(u64),
    /// Nanoseconds since 1970.
    Time(u64),
    /// What is or is not the case.
    Truth(bool),
}

/// In the order in which formats have them.
pub const FIELDS: [Field; 14] = [
    field("verdict", "string", |f| text(f.conclusion.verdict.as_str())),
    field("reason", "string", |f| text(f.conclusion.reason.as_str())),
    field("group", "string", |f| f.group().map(Value::Text)),
    field("epoch", "count", |f| count(f.trailer()?.epoch)),
    field("carrier", "string", |f| text(f.trailer()?.carrier.as_str())),
    field("mode", "string", |f| text(f.trailer()?.mode.as_str())),
    field("window", "count", |f| match f.block()? {
        Block::Window { k, .. } => count(k),
        Block::Each | Block::Tree { .. } => None,
    }),
    field("block", "string", |f| match f.block()? {
        Block::Tree { block, .. } => text(Hex(block.id()).to_string()),
        Block::Each | Block::Window { .. } => None,
    }),
    field("block_index", "count", |f| match f.block()? {
        Block::Tree { index, .. } => count(index),
        Block::Each | Block::Window { .. } => None,
    }),
    field("block_count", "count", |f| match f.block()? {
        Block::Tree { block, .. } => count(block.count()),
        Block::Each | Block::Window { .. } => None,
    }),
    field("scheme", "string", |f| text(report::scheme(f.trailer()?))),
    field("signed_at", "time", |f| f.signed_at_ns().map(Value::Time)),
    field("nat", "bool", |f| Some(Value::Truth(f.trailer()?.nat))),
    field("tolerant", "bool", |f| {
        Some(Value::Truth(f.trailer()?.tolerant))
    }),
];

const fn field(
    name: &'static str,
    kind: &'static str,
    of: fn(&Finding<'_>) -> Option<Value>,
) -> Field {
    Field { name, kind, of }
}

fn text(value: impl Into<String>) -> Option<Value> {
    Some(Value::Text(value.into()))
}

fn count(value: impl Into<u64>) -> Option<Value> {
    Some(Value::Count(value.into()))
}

impl Value {
    /// As JSON has it; none for what is not the case, which goes without saying.
    pub fn json(self) -> Option<Json> {
        match self {
            Self::Text(text) => Some(json!(text)),
            Self::Count(count) => Some(json!(count)),
            Self::Time(ns) => Some(json!(clock::rfc3339(ns))),
            Self::Truth(truth) => truth.then(|| json!(true)),
        }
    }

    /// As Zeek's logs have it.
    pub fn zeek(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Count(count) => count.to_string(),
            Self::Time(ns) => clock::epoch_seconds(ns),
            Self::Truth(truth) => if truth { "T" } else { "F" }.to_owned(),
        }
    }
}
