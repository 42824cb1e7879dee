//! What can go wrong.

use std::{fmt, io};

use clew_tunnel::Reason;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// By a rule of the protocol.
    Refused(Reason),
    /// By the server: there is no such service, or not for this user. It does not say which.
    Declined,
    /// By the server, which had not received the request for the connection: it may be asked for again, in
    /// another tunnel.
    Unheard,
    /// The connection, its tunnel or its driver has ended.
    Gone,
    /// The system's.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => write!(f, "refused: {reason}"),
            Self::Declined => f.write_str("the server refused the connection"),
            Self::Unheard => {
                f.write_str("the server ended the tunnel before it heard of the connection")
            }
            Self::Gone => f.write_str("the connection has ended"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self::Refused(reason)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
