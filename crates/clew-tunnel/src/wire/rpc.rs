//! The RPCs of connection 0: `spec/tunnel.md` section 11.

use alloc::vec::Vec;

use super::packet::{Side, Tid};
use super::values::{Call, CallWriter, Value, Values};
use crate::authenticator::{BOUND_BYTES, BOX_BYTES};
use crate::puzzle::{HASH_BYTES, R_BYTES};
use crate::reason::Reason;
use crate::x25519::{BYTES, Public};

/// An RPC of the tunnel's own. Its fields are of the right types and lengths, and not looked at beyond:
/// keys, connection ids and names are for who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rpc<'a> {
    /// First in each initiation packet (6.1).
    NextTid {
        /// TID of the next initiation packet; it may have flags, which are refused (`bad-tid`).
        tid: [u8; 8],
        /// The header's C', once more.
        key: Public,
    },
    /// The client rekeys.
    RekeyNow,
    /// An anonymous connection.
    Create {
        /// Its id.
        connection: u32,
        /// The service.
        service: &'a str,
    },
    /// A connection of a user, with the authenticator `box`.
    CreateAuth {
        /// Its id.
        connection: u32,
        /// The service.
        service: &'a str,
        /// U.
        user: Public,
        /// What shows that it is U.
        authenticator: &'a [u8; BOX_BYTES],
    },
    /// A connection of a user, with the authenticator `bound`.
    CreateAuthBound {
        /// Its id.
        connection: u32,
        /// The service.
        service: &'a str,
        /// U.
        user: Public,
        /// The S' that the authenticator is for.
        ephemeral: Public,
        /// What shows that it is U: [`BOUND_BYTES`] and the service name's.
        authenticator: &'a [u8],
    },
    /// Reserved: refused with `not-offered`.
    CreateAuthGroup {
        /// Its id.
        connection: u32,
    },
    /// The connection is there.
    Ack {
        /// Its id.
        connection: u32,
    },
    /// The connection is not there; 0: the control request that it answers.
    Refuse {
        /// Its id.
        connection: u32,
    },
    /// The connection ends; 0: the tunnel.
    Close {
        /// Its id.
        connection: u32,
    },
    /// A receive window is raised (7.5).
    WindowSize {
        /// The connection.
        connection: u32,
        /// Bytes since its creation, modulo 2^32.
        bytes: u32,
    },
    /// A puzzle in the tunnel (10.3).
    Puzz {
        /// r without its last w bits.
        q: &'a [u8; R_BYTES],
        /// SHA-512 of r.
        hash: &'a [u8; HASH_BYTES],
        /// How many bits are missing.
        w: u32,
        /// Which puzzle it is.
        nonce: [u8; 8],
    },
    /// Its solution.
    PuzzSoln {
        /// The whole r.
        r: &'a [u8; R_BYTES],
        /// Which puzzle it is of.
        nonce: [u8; 8],
    },
    /// Asks for a record (12).
    RequestCert {
        /// Of this host; see [`crate::record::Identity`].
        identity: &'a [u8],
    },
    /// Gives a record.
    GiveCert {
        /// Its cert, which section 3.3 judges.
        cert: &'a [u8],
        /// Its ecert, which section 3.3 judges.
        ecert: &'a [u8],
    },
    /// The giveCert that it answers was taken.
    Ok,
}

impl<'a> Rpc<'a> {
    /// Reads an RPC of connection 0 that `from` sent.
    ///
    /// # Errors
    /// `unknown-rpc`, which is passed over; `bad-arguments`, `wrong-side`: the first that applies.
    pub fn of(call: &Call<'a>, from: Side) -> Result<Self, Reason> {
        let mut at = Arguments(call.arguments);
        let read = match call.name {
            "nextTid" => at.next_tid(),
            "rekeyNow" => Some(Self::RekeyNow),
            "create" => at.create(),
            "createAuth" => at.create_auth(),
            "createAuthBound" => at.create_auth_bound(),
            "createAuthGroup" => return reserved(&mut at, from),
            "ack" => at.number().map(|connection| Self::Ack { connection }),
            "refuse" => at.number().map(|connection| Self::Refuse { connection }),
            "close" => at.number().map(|connection| Self::Close { connection }),
            "windowSize" => at.window_size(),
            "puzz" => at.puzz(),
            "puzzSoln" => at.puzz_soln(),
            "requestCert" => at.bytes().map(|identity| Self::RequestCert { identity }),
            "giveCert" => at.give_cert(),
            "ok" => Some(Self::Ok),
            _ => return Err(Reason::UnknownRpc),
        };
        let rpc = read.filter(|_| at.0.next().is_none());
        let rpc = rpc.ok_or(Reason::BadArguments)?;
        if rpc.side().is_some_and(|side| side != from) {
            return Err(Reason::WrongSide);
        }
        Ok(rpc)
    }

    /// Who sends it; none: both.
    pub const fn side(&self) -> Option<Side> {
        match self {
            Self::NextTid { .. }
            | Self::Create { .. }
            | Self::CreateAuth { .. }
            | Self::CreateAuthBound { .. }
            | Self::CreateAuthGroup { .. }
            | Self::PuzzSoln { .. }
            | Self::RequestCert { .. } => Some(Side::Client),
            Self::RekeyNow
            | Self::Ack { .. }
            | Self::Refuse { .. }
            | Self::Puzz { .. }
            | Self::Ok => Some(Side::Server),
            Self::Close { .. } | Self::WindowSize { .. } | Self::GiveCert { .. } => None,
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NextTid { .. } => "nextTid",
            Self::RekeyNow => "rekeyNow",
            Self::Create { .. } => "create",
            Self::CreateAuth { .. } => "createAuth",
            Self::CreateAuthBound { .. } => "createAuthBound",
            Self::CreateAuthGroup { .. } => "createAuthGroup",
            Self::Ack { .. } => "ack",
            Self::Refuse { .. } => "refuse",
            Self::Close { .. } => "close",
            Self::WindowSize { .. } => "windowSize",
            Self::Puzz { .. } => "puzz",
            Self::PuzzSoln { .. } => "puzzSoln",
            Self::RequestCert { .. } => "requestCert",
            Self::GiveCert { .. } => "giveCert",
            Self::Ok => "ok",
        }
    }

    /// Writes it behind other RPCs.
    ///
    /// # Errors
    /// `too-long` for a service name beyond [`crate::limits::STRING_MAX`], or bytes beyond 65,535.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Reason> {
        let call = CallWriter::new(out, 0, self.name());
        let call = match *self {
            Self::NextTid { tid, key } => call.long(tid).bytes(&key.0),
            Self::RekeyNow | Self::Ok => call,
            Self::Create {
                connection,
                service,
            } => call.number(connection).text(service),
            Self::CreateAuth {
                connection,
                service,
                user,
                authenticator,
            } => {
                let call = call.number(connection).text(service).bytes(&user.0);
                call.bytes(authenticator)
            }
            Self::CreateAuthBound {
                connection,
                service,
                user,
                ephemeral,
                authenticator,
            } => {
                let call = call.number(connection).text(service).bytes(&user.0);
                call.bytes(&ephemeral.0).bytes(authenticator)
            }
            Self::CreateAuthGroup { connection }
            | Self::Ack { connection }
            | Self::Refuse { connection }
            | Self::Close { connection } => call.number(connection),
            Self::WindowSize { connection, bytes } => call.number(connection).number(bytes),
            Self::Puzz { q, hash, w, nonce } => call.bytes(q).bytes(hash).number(w).bytes(&nonce),
            Self::PuzzSoln { r, nonce } => call.bytes(r).bytes(&nonce),
            Self::RequestCert { identity } => call.bytes(identity),
            Self::GiveCert { cert, ecert } => call.bytes(cert).bytes(ecert),
        };
        call.end()
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

    fn next_tid(&mut self) -> Option<Rpc<'a>> {
        let Value::Long(tid) = self.0.next()? else {
            return None;
        };
        let key = self.key()?;
        Some(Rpc::NextTid { tid, key })
    }

    fn create(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::Create {
            connection: self.number()?,
            service: self.text()?,
        })
    }

    fn create_auth(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::CreateAuth {
            connection: self.number()?,
            service: self.text()?,
            user: self.key()?,
            authenticator: self.array()?,
        })
    }

    fn create_auth_bound(&mut self) -> Option<Rpc<'a>> {
        let connection = self.number()?;
        let service = self.text()?;
        let user = self.key()?;
        let ephemeral = self.key()?;
        let authenticator = self.bytes()?;
        let rpc = Rpc::CreateAuthBound {
            connection,
            service,
            user,
            ephemeral,
            authenticator,
        };
        (authenticator.len() == BOUND_BYTES + service.len()).then_some(rpc)
    }

    fn window_size(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::WindowSize {
            connection: self.number()?,
            bytes: self.number()?,
        })
    }

    fn puzz(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::Puzz {
            q: self.array()?,
            hash: self.array()?,
            w: self.number()?,
            nonce: *self.array()?,
        })
    }

    fn puzz_soln(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::PuzzSoln {
            r: self.array()?,
            nonce: *self.array()?,
        })
    }

    fn give_cert(&mut self) -> Option<Rpc<'a>> {
        Some(Rpc::GiveCert {
            cert: self.bytes()?,
            ecert: self.bytes()?,
        })
    }
}
