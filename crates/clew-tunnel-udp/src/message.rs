//! RPCs as programs have them.

use std::fmt;

use clew_tunnel::Reason;
use clew_tunnel::wire::values::{Call, CallWriter, Values};

/// Bytes before a value: the connection's number, which its tunnel knows.
const NUMBER: usize = 4;

/// One RPC: a name and arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// Writes an RPC; as `Message::new("move", |call| call.number(3).text("north"))`.
    ///
    /// # Errors
    /// What a reader would refuse it for: a name of 1 to 64 bytes, texts of 512 bytes at most, lists in lists
    /// four deep, 256 values.
    pub fn new(
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<Self, Reason> {
        let mut bytes = Vec::new();
        arguments(CallWriter::new(&mut bytes, 0, name)).end()?;
        Ok(Self(bytes))
    }

    pub(crate) fn of(call: &Call<'_>) -> Self {
        Self([&[0; NUMBER], call.bytes].concat())
    }

    fn call(&self) -> Call<'_> {
        // It was read when it was made.
        Call::parse(&self.0).expect("an RPC that was checked")
    }

    /// Returns the RPC's name.
    pub fn name(&self) -> &str {
        self.call().name
    }

    /// Returns its arguments, in order.
    pub fn arguments(&self) -> Values<'_> {
        self.call().arguments
    }

    /// What is sent of it.
    pub(crate) fn value(&self) -> &[u8] {
        &self.0[NUMBER..]
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call {
            name, arguments, ..
        } = self.call();
        write!(f, "{name}(")?;
        f.debug_list().entries(arguments).finish()?;
        f.write_str(")")
    }
}
