//! Why a packet was judged, passed or signed as it was: specification section 7.

use core::fmt;

use crate::receiver::replay::Replay;

/// What a reader may think of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A machine of the group signed it.
    Valid,
    /// It carries no trailer.
    Unsigned,
    /// The capture does not hold enough of it, or of its block.
    Undecided,
    /// It carries a trailer that MUST be refused.
    Invalid,
}

impl Verdict {
    /// Returns the word for it in files and on terminals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Unsigned => "unsigned",
            Self::Undecided => "undecided",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

clew_wire::reasons! {
    /// The one rule that decided about a packet. The order is that of the specification.
    pub enum Reason {
        Ok = "ok": "The signature holds.",
        Vouched = "vouched": "Its own signature was not verified, that of a window that it is in was.",
        Reordered = "reordered": "The signature holds; a later packet of its block came before it.",
        LinkType = "link-type": "The link type is not one that is descended.",
        NotIp = "not-ip": "The frame carries neither IPv4 nor IPv6.",
        BadVersion = "bad-version": "The version nibble is not what the link layer promised.",
        ZeroLength = "zero-length": "A length of zero where there is more: segmentation offload.",
        Jumbo = "jumbo": "An IPv6 jumbo payload.",
        BadLength = "bad-length": "A length does not fit the frame or the layer around it.",
        Truncated = "truncated": "The capture does not hold the whole datagram.",
        Fragment = "fragment": "A fragment.",
        ExtensionHeaders = "extension-headers": "Too many IPv6 extension headers, or one that does not fit.",
        RoutingHeader = "routing-header": "An IPv6 routing header whose final destination cannot be read.",
        TooBig = "too-big": "No room for the trailer, or for a mark besides.",
        NoTrailer = "no-trailer": "The last four bytes are not the magic.",
        UnknownVersion = "unknown-version": "A trailer version other than 1.",
        BadTrailerLength = "bad-trailer-length": "A trailer length that contradicts the rest.",
        UnknownMode = "unknown-mode": "A mode that this reader does not know.",
        ReservedBits = "reserved-bits": "A flag that is reserved or makes no sense for this packet.",
        BadMark = "bad-mark": "A mark with count 0 or without a well-formed trailer within.",
        BadBlock = "bad-block": "A window or block with a value out of its bounds.",
        BadCode = "bad-code": "Coded carriage of more or fewer packets, or with another k, than it may have.",
        UnknownCarriage = "unknown-carriage": "A carriage that this mode does not have.",
        UnknownScheme = "unknown-scheme": "A signature scheme that this reader does not know.",
        UnknownGroup = "unknown-group": "None of the reader's groups.",
        UnknownEpoch = "unknown-epoch": "The group has no such epoch.",
        EpochOver = "epoch-over": "The epoch's successor had started, and the grace was over.",
        Stale = "stale": "The timestamp is too old.",
        Future = "future": "The timestamp lies in the future.",
        TooFewShares = "too-few-shares": "Fewer packets of its block came than restore its signature.",
        BadEncoding = "bad-encoding": "The body does not decode.",
        BadSignature = "bad-signature": "The group signature does not hold.",
        Duplicate = "duplicate": "The same signature was accepted before.",
        Signed = "signed": "`sign`: signed.",
        AlreadySigned = "already-signed": "`sign`: it had a trailer, and got a mark.",
        MarkFull = "mark-full": "`sign`: its mark cannot be raised.",
        NotSelected = "not-selected": "`sign`: its source is not one that the machine owns.",
        Offload = "offload": "`sign`: larger than the MTU before signing.",
        Container = "container": "`sign`: the file format could not be restored exactly.",
    }
}

impl Reason {
    /// Returns the verdict that `verify` gives with this reason; none for those that only `sign`
    /// gives. A duplicate is valid in a capture and invalid live.
    pub const fn verdict(self, replay: Replay) -> Option<Verdict> {
        match self {
            Self::Ok | Self::Vouched | Self::Reordered => Some(Verdict::Valid),
            Self::LinkType
            | Self::NotIp
            | Self::BadVersion
            | Self::ZeroLength
            | Self::Jumbo
            | Self::BadLength
            | Self::Fragment
            | Self::ExtensionHeaders
            | Self::RoutingHeader
            | Self::TooBig
            | Self::NoTrailer => Some(Verdict::Unsigned),
            Self::Truncated | Self::TooFewShares => Some(Verdict::Undecided),
            Self::UnknownVersion
            | Self::BadTrailerLength
            | Self::UnknownMode
            | Self::ReservedBits
            | Self::BadMark
            | Self::BadBlock
            | Self::BadCode
            | Self::UnknownCarriage
            | Self::UnknownScheme
            | Self::UnknownGroup
            | Self::UnknownEpoch
            | Self::EpochOver
            | Self::Stale
            | Self::Future
            | Self::BadEncoding
            | Self::BadSignature => Some(Verdict::Invalid),
            Self::Duplicate => Some(match replay {
                Replay::Flag => Verdict::Valid,
                Replay::Refuse => Verdict::Invalid,
            }),
            Self::Signed
            | Self::AlreadySigned
            | Self::MarkFull
            | Self::NotSelected
            | Self::Offload
            | Self::Container => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, string::String, vec::Vec};

    use super::*;

    const SPECIFICATION: &str = include_str!("../../../spec/packet-trailer.md");

    #[test]
    fn all_is_in_declaration_order() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
        }
    }

    fn section_7() -> &'static str {
        let after = SPECIFICATION.split("\n## 7. ").nth(1).unwrap();
        after.split("\n## ").next().unwrap()
    }

    #[test]
    fn section_7_lists_exactly_these_reasons() {
        let section = section_7();
        let quoted: BTreeSet<String> = section
            .split('`')
            .skip(1)
            .step_by(2)
            .map(String::from)
            .collect();
        let words = [
            "valid",
            "unsigned",
            "undecided",
            "invalid",
            "verify",
            "sign",
        ];
        let listed: Vec<&str> = quoted
            .iter()
            .map(String::as_str)
            .filter(|word| !words.contains(word))
            .collect();
        let ours: BTreeSet<&str> = Reason::ALL.into_iter().map(Reason::as_str).collect();
        assert_eq!(listed, ours.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn section_7_gives_these_verdicts() {
        for line in section_7().lines() {
            let Some((verdict, reasons)) = line.trim_start_matches("| `").split_once("` | `")
            else {
                continue;
            };
            for reason in Reason::ALL
                .into_iter()
                .filter(|reason| *reason != Reason::Duplicate)
            {
                if reasons.split('`').any(|word| word == reason.as_str()) {
                    assert_eq!(
                        reason.verdict(Replay::Flag).unwrap().as_str(),
                        verdict,
                        "{reason}"
                    );
                }
            }
        }
    }

    #[test]
    fn counters_are_ordered_and_name_only_what_occurred() {
        let mut counters = Counters::new();
        for reason in [Reason::NoTrailer, Reason::Ok, Reason::NoTrailer] {
            counters.count(reason);
        }
        assert_eq!(
            counters.iter().collect::<Vec<_>>(),
            [(Reason::Ok, 1), (Reason::NoTrailer, 2)]
        );
        assert_eq!(counters.of(Reason::NoTrailer), 2);
    }
}
