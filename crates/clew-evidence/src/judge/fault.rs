//! The rules of `spec/opening.md` sections 6 and 7.

use clew_group::quorum::Trustee;
use core::fmt;

/// The first rule that evidence broke, and by whose contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: JudgeRule,
    /// The trustee whose share or blind broke it.
    pub trustee: Option<Trustee>,
}

/// The rules that an opening or a match can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeRule {
    /// A field does not decode, something is left over, or the trustees are not those of a quorum.
    Layout,
    /// It is not about this group, or not about this history of it; or the group file's keys of that
    /// epoch are not good.
    Group,
    /// The packet is another than the one that was asked about.
    Packet,
    /// The packet's signature does not verify.
    Signature,
    /// A decryption does not hold.
    Share,
    /// The row is not in the register of this group file, or is not the one that was asked about.
    Register,
    /// S or the proof of y does not hold for what the row says.
    Device,
    /// A of the row, which the device signed, is no credential of this group with this x.
    Credential,
    /// The base that was opened or asked about is not the one of the row.
    Signer,
    /// A blind does not hold, or the blinds cancel each other out.
    Blind,
    /// The device key is another than the one that was expected.
    DevicePin,
}

impl JudgeRule {
    /// Returns the name that the specification gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Group => "group",
            Self::Packet => "packet",
            Self::Signature => "signature",
            Self::Share => "share",
            Self::Register => "register",
            Self::Device => "device",
            Self::Credential => "credential",
            Self::Signer => "signer",
            Self::Blind => "blind",
            Self::DevicePin => "device-pin",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Layout => "fields have invalid lengths or values",
            Self::Group => "evidence is about another group file",
            Self::Packet => "evidence is about another packet",
            Self::Signature => "the packet's signature is invalid",
            Self::Share => "invalid share",
            Self::Register => "the machine's row is not in the register of this group file",
            Self::Device => "invalid device signature of the machine's row",
            Self::Credential => "the row's credential is not valid for this group and x",
            Self::Signer => "another machine made the signature",
            Self::Blind => "invalid blind",
            Self::DevicePin => "the machine has another device key than required",
        }
    }
}

impl From<JudgeRule> for Fault {
    fn from(rule: JudgeRule) -> Self {
        Self {
            rule,
            trustee: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule;
        match self.trustee {
            None => write!(f, "{} (rule {})", rule.sentence(), rule.as_str()),
            Some(who) => write!(f, "{who}: {} (rule {})", rule.sentence(), rule.as_str()),
        }
    }
}

impl core::error::Error for Fault {}
