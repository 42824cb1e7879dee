//! All that is known about one packet.

use crate::community_id::CommunityId;
use clew_capture::{COMMENT_START, PacketInfo};
use clew_engine::Keyring;
use clew_packet::{Block, Conclusion, Flow, Frame, Summary, Timestamp, flow, read};
use std::cell::OnceCell;

/// What was found about one packet.
pub struct Finding<'a> {
    /// Number, time and length.
    pub info: &'a PacketInfo,
    /// The verdict, its reason, and what the trailer says.
    pub conclusion: &'a Conclusion,
    /// Addresses and ports; none where they cannot be read, as in a fragment.
    pub flow: Option<Flow>,
    frame: &'a Frame<'a>,
    keyring: &'a Keyring,
    /// Read when a format asks for it: people are not told, and reading takes time.
    block: OnceCell<Option<Block<'a>>>,
}

impl<'a> Finding<'a> {
    /// What a conclusion says about a frame.
    pub fn new(
        info: &'a PacketInfo,
        frame: &'a Frame<'a>,
        conclusion: &'a Conclusion,
        keyring: &'a Keyring,
    ) -> Self {
        Self {
            info,
            conclusion,
            flow: flow(frame).ok(),
            frame,
            keyring,
            block: OnceCell::new(),
        }
    }

    /// What the trailer says, if there is a well-formed one.
    pub fn trailer(&self) -> Option<&Summary> {
        self.conclusion.summary.as_ref()
    }

    /// The id of the packet's group; its first half, as the trailer has it, if the group was not
    /// given.
    pub fn group(&self) -> Option<String> {
        let tag = self.trailer()?.group;
        let group = self.keyring.group(tag);
        Some(group.map_or_else(|| tag.to_string(), |group| group.id().to_string()))
    }

    /// The join key of other tools.
    pub fn community_id(&self) -> Option<CommunityId> {
        self.flow.as_ref().map(|flow| CommunityId::new(flow, 0))
    }

    /// The packet's comment in a capture: for people, and for display filters.
    pub fn comment(&self) -> String {
        let (verdict, reason) = (self.conclusion.verdict, self.conclusion.reason);
        let mut line = format!("{COMMENT_START}{verdict} reason={reason}");
        if let Some(summary) = self.trailer() {
            line += &format!(
                " group={} epoch={} mode={}",
                summary.group,
                summary.epoch,
                summary.mode.as_str()
            );
        }
        line
    }

    /// When it was signed, if its trailer says so.
    pub fn signed_at_ns(&self) -> Option<u64> {
        let timestamp = self.trailer()?.timestamp;
        (timestamp != Timestamp::NONE).then_some(timestamp.0)
    }

    /// The window or block that it was signed in.
    pub fn block(&self) -> Option<Block<'a>> {
        let read = || read(self.frame).map(|packet| packet.trailer().block).ok();
        *self
            .block
            .get_or_init(|| self.trailer().and_then(|_| read()))
    }
}
