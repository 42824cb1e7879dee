//! What is in a box: `spec/tunnel.md` section 4.2, and which RPCs stand where (6.1, 7.1).

use super::values::Call;
use crate::limits::RPCS_MAX;
use crate::reason::Reason;
use clew_wire::Reader;

/// Bytes of seq and ack.
pub(crate) const FIXED_BYTES: usize = 8;

/// Least bytes of an RPC: connection id and type. Fewer are padding.
const RPC_MIN: usize = 5;

/// RPCs one after the other. Their bytes are known to be good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls<'a>(&'a [u8]);

impl<'a> Calls<'a> {
    /// Reads RPCs up to the end of the bytes, or to the padding.
    ///
    /// # Errors
    /// Those of [`Call::parse`], `bad-padding`, `too-many-rpcs`: the first that applies.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Reason> {
        let mut at = Reader(bytes);
        // Zeros from here on are padding: looked for once, from the end.
        let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        for count in 0.. {
            if at.0.len() <= zeros {
                break;
            }
            if at.0.len() < RPC_MIN {
                return Err(Reason::BadPadding);
            }
            if count == RPCS_MAX {
                return Err(Reason::TooManyRpcs);
            }
            Call::read(&mut at)?;
        }
        Ok(Self(&bytes[..bytes.len() - at.0.len()]))
    }

    /// Their bytes, without padding.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Iterator for Calls<'a> {
    type Item = Call<'a>;

    fn next(&mut self) -> Option<Call<'a>> {
        let mut at = Reader(self.0);
        let call = Call::read(&mut at).ok()?;
        self.0 = at.0;
        Some(call)
    }
}

/// A plaintext, checked whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plaintext<'a> {
    /// Place in the sequence; 0 without RPCs in sequence.
    pub seq: u32,
    /// The last seq up to which everything was received; 0 before the first.
    pub ack: u32,
    /// All its RPCs.
    pub calls: Calls<'a>,
}

impl<'a> Plaintext<'a> {
    /// Reads what a box had in it.
    ///
    /// # Errors
    /// `truncated` below 8 bytes; those of [`Calls::parse`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Reason> {
        let mut at = Reader(bytes);
        let seq = at.u32().ok_or(Reason::Truncated)?;
        let ack = at.u32().ok_or(Reason::Truncated)?;
        let calls = Calls::parse(at.0)?;
        Ok(Self { seq, ack, calls })
    }

    /// Whether it has a nextTid, wherever that stands.
    pub(crate) fn has_next_tid(&self) -> bool {
        let mut calls = self.calls;
        calls.any(|call| call.connection == 0 && call.name == "nextTid")
    }

    /// The RPCs out of sequence, and those in sequence behind them.
    ///
    /// # Errors
    /// `order`: one out of sequence stands behind others; seq is 0 and there are RPCs in sequence, or it
    /// is not and there are none.
    pub fn split(&self) -> Result<(Calls<'a>, Calls<'a>), Reason> {
        let all = self.calls.as_bytes();
        let mut rest = self.calls;
        let mut urgent = 0;
        while let Some(call) = rest.next() {
            if !is_out_of_sequence(&call) {
                break;
            }
            urgent = all.len() - rest.as_bytes().len();
        }
        let (urgent, counted) = all.split_at(urgent);
        let (urgent, counted) = (Calls(urgent), Calls(counted));
        let mut late = counted;
        if late.any(|call| is_out_of_sequence(&call)) || (self.seq == 0) != counted.is_empty() {
            return Err(Reason::Order);
        }
        Ok((urgent, counted))
    }
}

/// Whether an RPC is done as soon as its packet is decrypted.
fn is_out_of_sequence(call: &Call<'_>) -> bool {
    call.connection == 0 && matches!(call.name, "nextTid" | "puzz" | "puzzSoln")
}
