//! What verification found, in formats for people and for other programs: `spec/records.md`.

mod eve;
mod flows;
pub mod json;
mod protocol;
mod table;
mod tsv;

use crate::capture::PacketInfo;
use crate::cli::Verify;
use crate::community_id::community_id;
use crate::keyring::Keyring;
use crate::report;
use crate::verify::Verified;
use clew_packet::{Block, Conclusion, Flow, Frame, Timestamp, flow, read};
use std::io::{self, Write};

/// How the result is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: what is invalid, a summary, the flows
    Table,
    /// JSON Lines: one object per packet, then a summary
    Json,
    /// A log as Zeek writes it
    Tsv,
    /// JSON Lines as Suricata writes them (EVE)
    Eve,
}

/// Writes what was found in one format.
pub trait Records {
    /// Before the first packet.
    fn start(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// For every packet, in order.
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// After the last packet.
    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()>;
}

/// What writes the format that was asked for.
pub fn records(arguments: &Verify) -> Box<dyn Records + '_> {
    match arguments.format() {
        Format::Table => Box::new(table::Table::new(&arguments.input, arguments.strict)),
        Format::Json => Box::new(json::Json),
        Format::Tsv => Box::new(tsv::Tsv),
        Format::Eve => Box::new(eve::Eve::default()),
    }
}

/// A packet's place in the block that it was signed in.
struct InBlock {
    id: String,
    /// From 0.
    index: u16,
    count: u16,
}

/// What was found about one packet.
pub struct Finding<'a> {
    /// Number, time and length.
    pub info: &'a PacketInfo,
    /// The verdict, its reason, and what the trailer says.
    pub conclusion: &'a Conclusion,
    /// Addresses and ports; none where they cannot be read, as in a fragment.
    pub flow: Option<Flow>,
    block: Option<Block<'a>>,
    keyring: &'a Keyring,
}

impl<'a> Finding<'a> {
    /// What a conclusion says about a frame.
    pub fn new(
        info: &'a PacketInfo,
        frame: &Frame<'a>,
        conclusion: &'a Conclusion,
        keyring: &'a Keyring,
    ) -> Self {
        let trailer = conclusion.summary.and_then(|_| read(frame).ok());
        Self {
            info,
            conclusion,
            flow: flow(frame).ok(),
            block: trailer.map(|packet| packet.trailer().block),
            keyring,
        }
    }

    /// The id of the packet's group; its first half, as the trailer has it, if the group was not
    /// given.
    fn group(&self) -> Option<String> {
        let tag = self.conclusion.summary?.group;
        let group = self.keyring.group(tag);
        Some(group.map_or(tag.to_string(), |group| group.id().to_string()))
    }

    /// The join key of other tools.
    fn community_id(&self) -> Option<String> {
        self.flow.as_ref().map(|flow| community_id(flow, 0))
    }

    /// When it was signed, if its trailer says so.
    fn signed_at_ns(&self) -> Option<u64> {
        let timestamp = self.conclusion.summary?.timestamp;
        (timestamp != Timestamp::NONE).then_some(timestamp.0)
    }

    /// Its place in its block, in mode `tree`.
    fn in_block(&self) -> Option<InBlock> {
        match self.block? {
            Block::Tree { block, index, .. } => Some(InBlock {
                id: report::hex(block.id()),
                index,
                count: block.count(),
            }),
            Block::Each | Block::Window { .. } => None,
        }
    }

    /// How many packets its window has, in mode `window`.
    fn window(&self) -> Option<u16> {
        match self.block? {
            Block::Window { k, .. } => Some(k),
            Block::Each | Block::Tree { .. } => None,
        }
    }
}
