//! Why a packet was judged as it was, and what became of one that was to be signed: specification
//! section 7.

use core::fmt;

use crate::receiver::replay::Replay;

/// What a reader may think of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A machine of the group signed it.
    Valid,
    /// It has no trailer, or no rule signs such a packet.
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
    /// Why a verdict is what it is: the one rule that decided, in the order of the specification.
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
        UnknownCarrier = "unknown-carrier": "A type of datagram that this reader does not know.",
        BadCarrier = "bad-carrier": "A datagram that holds no packet which could be signed as it is.",
        BadCarrierLength = "bad-carrier-length": "A length in a carrier's datagram that contradicts the rest.",
        BadFragment = "bad-fragment": "A fragment of a datagram that breaks a rule, or is not of that datagram.",
        MissingFragment = "missing-fragment": "Others of its fragments did not come.",
        Cookie = "cookie": "A datagram between daemons, with no packet in it.",
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
    }
}

impl Reason {
    /// Returns the verdict that has this reason. A duplicate is valid in a capture and invalid live.
    pub const fn verdict(self, replay: Replay) -> Verdict {
        match self {
            Self::Ok | Self::Vouched | Self::Reordered => Verdict::Valid,
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
            | Self::NoTrailer
            | Self::Cookie => Verdict::Unsigned,
            Self::Truncated | Self::MissingFragment | Self::TooFewShares => Verdict::Undecided,
            Self::UnknownVersion
            | Self::UnknownCarrier
            | Self::BadCarrier
            | Self::BadCarrierLength
            | Self::BadFragment
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
            | Self::BadSignature => Verdict::Invalid,
            Self::Duplicate => match replay {
                Replay::Flag => Verdict::Valid,
                Replay::Refuse => Verdict::Invalid,
            },
        }
    }
}

/// What became of a packet that was to be signed. The order is that of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignOutcome {
    /// It passes as it is: by this rule it cannot be signed.
    Unsignable(Reason),
    /// It was signed.
    Signed,
    /// It had a trailer, and got a mark.
    AlreadySigned,
    /// It passes as it is: its mark cannot be raised.
    MarkFull,
    /// It passes as it is: it is a datagram of a carrier, which is signed already.
    Carrier,
    /// It passes as it is: it has no form in `udp-transport`, but one in `udp-tunnel`.
    NeedsTunnel,
    /// It passes as it is: its source is not one that the machine owns.
    NotSelected,
    /// It passes as it is: it was larger than the MTU before signing.
    Offload,
    /// It passes as it is: the file format could not be restored exactly.
    Container,
}

impl SignOutcome {
    /// Returns the name in kebab case, as it stands in the specification.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unsignable(reason) => reason.as_str(),
            Self::Signed => "signed",
            Self::AlreadySigned => "already-signed",
            Self::MarkFull => "mark-full",
            Self::Carrier => "carrier",
            Self::NeedsTunnel => "needs-tunnel",
            Self::NotSelected => "not-selected",
            Self::Offload => "offload",
            Self::Container => "container",
        }
    }
}

impl From<Reason> for SignOutcome {
    fn from(reason: Reason) -> Self {
        Self::Unsignable(reason)
    }
}

impl fmt::Display for SignOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
    fn section_7_lists_exactly_these_reasons_and_outcomes() {
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
        let outcomes = [
            SignOutcome::Signed,
            SignOutcome::AlreadySigned,
            SignOutcome::MarkFull,
            SignOutcome::Carrier,
            SignOutcome::NeedsTunnel,
            SignOutcome::NotSelected,
            SignOutcome::Offload,
            SignOutcome::Container,
        ];
        let reasons = Reason::ALL.into_iter().map(SignOutcome::from);
        let ours: BTreeSet<&str> = reasons.chain(outcomes).map(SignOutcome::as_str).collect();
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
                    assert_eq!(reason.verdict(Replay::Flag).as_str(), verdict, "{reason}");
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
