//! A tunnel as its endpoint sees it, whichever side it is at.

use core::fmt::Debug;
use core::net::SocketAddr;

use clew_wire::Instant;

use super::channel::{Channel, Common, Now};
use super::outgoing::Outgoing;
use super::receive::Decrypted;
use super::tids::TidList;
use super::tunnel_keys::TunnelKeys;
use crate::reason::Reason;
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

/// A tunnel at one side: what clients and servers do differently.
pub trait Party: Debug + Sized {
    /// What its tunnels share.
    type Shared: AsRef<Common> + AsMut<Common> + Debug;

    /// Its channel, to be read.
    fn channel(&self) -> &Channel;

    /// Its channel.
    fn channel_mut(&mut self) -> &mut Channel;

    /// Where the other side is.
    fn address(&self) -> SocketAddr;

    /// The TIDs by which packets find it.
    fn tids(&self) -> TidList;

    /// Its keys, to be read. Returns `None` if its state has none.
    fn keys(&self) -> Option<&TunnelKeys>;

    /// Its keys. Returns `None` if its state has none.
    fn keys_mut(&mut self) -> Option<&mut TunnelKeys>;

    /// A packet was decrypted, and its ack done. `is_newest`: with a nonce above all before it; `is_ack`: it
    /// acknowledged something.
    ///
    /// # Errors
    /// A reason that closes the tunnel.
    fn heard(
        &mut self,
        shared: &mut Self::Shared,
        now: &mut Now<'_>,
        decrypted: &Decrypted<'_>,
        is_newest: bool,
        is_ack: bool,
    ) -> Result<(), Reason>;

    /// Does an RPC out of sequence, but nextTid.
    ///
    /// # Errors
    /// A reason that closes the tunnel.
    fn urgent(&mut self, shared: &mut Self::Shared, rpc: Rpc<'_>) -> Result<(), Reason>;

    /// Whether there may be such an RPC in this tunnel at all.
    ///
    /// # Errors
    /// `not-allowed`.
    fn admits(&self, call: &Call<'_>) -> Result<(), Reason> {
        let _ = call;
        Ok(())
    }

    /// Whether nothing more in sequence is taken for now: it is dropped as any network may, and comes again.
    fn is_full(&self) -> bool {
        false
    }

    /// The tunnel has left the table: gives back the places that it had.
    fn leave(&mut self, shared: &mut Self::Shared) {
        let _ = shared;
    }

    /// Does an RPC of connection 0 that is in sequence.
    ///
    /// # Errors
    /// A reason that closes the tunnel, or for which the RPC is passed over.
    fn control(
        &mut self,
        shared: &mut Self::Shared,
        now: Now<'_>,
        rpc: Rpc<'_>,
    ) -> Result<(), Reason>;

    /// Whether the other side closed the tunnel, or is done with it.
    fn is_over(&self) -> bool;

    /// Sends one packet, if there is one to be sent now.
    ///
    /// # Errors
    /// A reason that ends the tunnel.
    fn send(
        &mut self,
        shared: &mut Self::Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason>;

    /// Sends close(0), if its state and address allow it. It stands alone, whatever waits: it is not sent again,
    /// and nothing that waits will be.
    fn say_last(&mut self, shared: &Self::Shared, now: Instant, out: &mut Outgoing);

    /// The earliest instant at which something happens by itself.
    fn next_due(&self) -> Option<Instant>;
}
