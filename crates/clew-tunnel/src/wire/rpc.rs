//! The RPCs of connection 0: `spec/tunnel.md` section 11.

use alloc::vec::Vec;

use super::packet::{Side, Tid};
use super::values::{Call, CallWriter, Value, Values};
use crate::authenticator::{BOUND_BYTES, BOX_BYTES};
use crate::puzzle::{HASH_BYTES, R_BYTES};
use crate::reason::Reason;
use crate::x25519::{BYTES, Public};

/// Declares [`Rpc`] by its rows: name, sender (none: both), and arguments with the way in which they are read and
/// written.
macro_rules! rpcs {
    ($(
        $(#[$doc:meta])*
        $rpc:ident = $name:literal of $side:expr $(, {
            $($(#[$field_doc:meta])* $field:ident: $kind:ty as $how:ident,)*
        })?;
    )*) => {
        /// An RPC of the tunnel's own. Its fields are of the right types and lengths, and not looked at beyond:
        /// keys, connection ids and names are for who does it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rpc<'a> {
            $($(#[$doc])* $rpc $({ $($(#[$field_doc])* $field: $kind),* })?,)*
        }

        impl<'a> Rpc<'a> {
            const NAMES: &'static [&'static str] = &[$($name),*];

            /// Who sends it; none: both.
            pub const fn side(&self) -> Option<Side> {
                match self {
                    $(Self::$rpc { .. } => $side,)*
                }
            }

            /// The name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$rpc { .. } => $name,)*
                }
            }

            fn read(name: &str, at: &mut Arguments<'a>) -> Option<Self> {
                match name {
                    $($name => Some(Self::$rpc $({ $($field: at.$how()?),* })?),)*
                    _ => None,
                }
            }

            fn arguments<'w>(&self, call: CallWriter<'w>) -> CallWriter<'w> {
                match *self {
                    $(Self::$rpc $({ $($field),* })? => call$($(.$how($field))*)?,)*
                }
            }
        }
    };
}

rpcs! {
    /// First in each initiation packet (6.1).
    NextTid = "nextTid" of Some(Side::Client), {
        /// TID of the next initiation packet; it may have flags, which are refused (`bad-tid`).
        tid: [u8; 8] as long,
        /// The header's C', once more.
        key: Public as key,
    };
    /// The client rekeys.
    RekeyNow = "rekeyNow" of Some(Side::Server);
    /// An anonymous connection.
    Create = "create" of Some(Side::Client), {
        /// Its id.
        connection: u32 as number,
        /// The service.
        service: &'a str as text,
    };
    /// A connection of a user, with the authenticator `box`.
    CreateAuth = "createAuth" of Some(Side::Client), {
        /// Its id.
        connection: u32 as number,
        /// The service.
        service: &'a str as text,
        /// U.
        user: Public as key,
        /// What shows that it is U.
        authenticator: &'a [u8; BOX_BYTES] as array,
    };
    /// A connection of a user, with the authenticator `bound`.
    CreateAuthBound = "createAuthBound" of Some(Side::Client), {
        /// Its id.
        connection: u32 as number,
        /// The service.
        service: &'a str as text,
        /// U.
        user: Public as key,
        /// The S' that the authenticator is for.
        ephemeral: Public as key,
        /// What shows that it is U: [`BOUND_BYTES`] and the service name's.
        authenticator: &'a [u8] as bytes,
    };
    /// Reserved: refused with `not-offered`.
    CreateAuthGroup = "createAuthGroup" of Some(Side::Client), {
        /// Its id.
        connection: u32 as number,
    };
    /// The connection is there.
    Ack = "ack" of Some(Side::Server), {
        /// Its id.
        connection: u32 as number,
    };
    /// The connection is not there; 0: the control request that it answers.
    Refuse = "refuse" of Some(Side::Server), {
        /// Its id.
        connection: u32 as number,
    };
    /// The connection ends; 0: the tunnel.
    Close = "close" of None, {
        /// Its id.
        connection: u32 as number,
    };
    /// A receive window is raised (7.5).
    WindowSize = "windowSize" of None, {
        /// The connection.
        connection: u32 as number,
        /// Bytes since its creation, modulo 2^32.
        bytes: u32 as number,
    };
    /// A puzzle in the tunnel (10.3).
    Puzz = "puzz" of Some(Side::Server), {
        /// r without its last w bits.
        q: &'a [u8; R_BYTES] as array,
        /// SHA-512 of r.
        hash: &'a [u8; HASH_BYTES] as array,
        /// How many bits are missing.
        w: u32 as number,
        /// Which puzzle it is.
        nonce: [u8; 8] as nonce,
    };
    /// Its solution.
    PuzzSoln = "puzzSoln" of Some(Side::Client), {
        /// The whole r.
        r: &'a [u8; R_BYTES] as array,
        /// Which puzzle it is of.
        nonce: [u8; 8] as nonce,
    };
    /// Asks for a record (12).
    RequestCert = "requestCert" of Some(Side::Client), {
        /// Of this host; see [`crate::record::Identity`].
        identity: &'a [u8] as bytes,
    };
    /// Gives a record.
    GiveCert = "giveCert" of None, {
        /// Its cert, which section 3.3 judges.
        cert: &'a [u8] as bytes,
        /// Its ecert, which section 3.3 judges.
        ecert: &'a [u8] as bytes,
    };
    /// The giveCert that it answers was taken.
    Ok = "ok" of Some(Side::Server);
}

impl<'a> Rpc<'a> {
    /// Reads an RPC of connection 0 that `from` sent.
    ///
    /// # Errors
    /// `unknown-rpc`, which is passed over; `bad-arguments`, `wrong-side`: the first that applies.
    pub fn of(call: &Call<'a>, from: Side) -> Result<Self, Reason> {
        let mut at = Arguments(call.arguments);
        if call.name == "createAuthGroup" {
            return reserved(&mut at, from);
        }
        if !Self::NAMES.contains(&call.name) {
            return Err(Reason::UnknownRpc);
        }
        let read = Self::read(call.name, &mut at);
        let rpc = read.filter(|rpc| at.0.next().is_none() && rpc.has_its_length());
        let rpc = rpc.ok_or(Reason::BadArguments)?;
        if rpc.side().is_some_and(|side| side != from) {
            return Err(Reason::WrongSide);
        }
        Ok(rpc)
    }

    /// Whether an authenticator `bound` is as long as its service's name asks.
    const fn has_its_length(&self) -> bool {
        match self {
            Self::CreateAuthBound {
                service,
                authenticator,
                ..
            } => authenticator.len() == BOUND_BYTES + service.len(),
            _ => true,
        }
    }

    /// Writes it behind other RPCs.
    ///
    /// # Errors
    /// `too-long` for a service name beyond [`crate::limits::STRING_MAX`], or bytes beyond 65,535.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Reason> {
        self.arguments(CallWriter::new(out, 0, self.name())).end()
    }
}

/// createAuthGroup has arguments that this version does not know, but for the first.
fn reserved<'a>(at: &mut Arguments<'a>, from: Side) -> Result<Rpc<'a>, Reason> {
    let connection = at.number().filter(|_| from == Side::Client);
    let connection = connection.ok_or(Reason::UnknownRpc)?;
    Ok(Rpc::CreateAuthGroup { connection })
}

/// The first RPC of an initiation packet, whose header has this C'.
///
/// # Errors
/// `bad-first` if it is not nextTid, `bad-arguments`, `key-mismatch`, `bad-tid` if the TID has flags: the
/// first that applies.
pub fn next_tid(first: Option<&Call<'_>>, header: &Public) -> Result<Tid, Reason> {
    let first = first.filter(|call| call.connection == 0 && call.name == "nextTid");
    match Rpc::of(first.ok_or(Reason::BadFirst)?, Side::Client)? {
        Rpc::NextTid { key, .. } if key != *header => Err(Reason::KeyMismatch),
        Rpc::NextTid { tid, .. } => Tid::new(tid).ok_or(Reason::BadTid),
        _ => Err(Reason::BadFirst),
    }
}

/// What is left of the arguments.
struct Arguments<'a>(Values<'a>);

impl<'a> Arguments<'a> {
    fn number(&mut self) -> Option<u32> {
        match self.0.next()? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        match self.0.next()? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        match self.0.next()? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        self.bytes()?.try_into().ok()
    }

    fn key(&mut self) -> Option<Public> {
        self.array::<BYTES>().copied().map(Public)
    }

    fn nonce(&mut self) -> Option<[u8; 8]> {
        self.array().copied()
    }

    fn long(&mut self) -> Option<[u8; 8]> {
        match self.0.next()? {
            Value::Long(long) => Some(long),
            _ => None,
        }
    }
}

impl CallWriter<'_> {
    fn array<const N: usize>(self, bytes: &[u8; N]) -> Self {
        self.bytes(bytes)
    }

    fn key(self, key: Public) -> Self {
        self.bytes(&key.0)
    }

    fn nonce(self, nonce: [u8; 8]) -> Self {
        self.bytes(&nonce)
    }
}
