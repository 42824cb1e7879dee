//! What holds in every run, whatever happens in it.

use std::collections::HashSet;
use std::net::SocketAddr;

use clew_tunnel::engine::client::Client;
use clew_tunnel::engine::server::Server;
use clew_tunnel::limits::{AHEAD_TOTAL, CONNECTIONS_MAX, CONTROL_MAX, GRANT, M_MAX, PACKET_MAX};

/// It is in everything that programs say, and never in a datagram.
pub const MARKER: &[u8] = b"<in clear>";

/// Datagrams that one batch may leave behind.
pub const PLAIN_MAX: usize = 4_096;

/// Bytes of answers to one packet: 63 times refuse(0), or one record.
const CONTROL_OVER: usize = 64 * 20 + 1_024;

/// Whoever sees all datagrams.
#[derive(Default)]
pub struct Watch {
    nonces: HashSet<(bool, [u8; 8], [u8; 8])>,
}

/// What a packet has in the clear.
pub fn clear(bytes: &[u8]) -> (u8, [u8; 8], u64) {
    let mut tid: [u8; 8] = bytes[..8].try_into().expect("a TID");
    let flags = tid[0] & 0xc0;
    tid[0] &= 0x3f;
    let nonce = u64::from_be_bytes(bytes[8..16].try_into().expect("a nonce"));
    (flags, tid, nonce)
}

/// Whether these bytes stand somewhere in those.
pub fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|part| part == what)
}

impl Watch {
    /// A datagram is sent.
    pub fn see(&mut self, from: SocketAddr, bytes: &[u8]) {
        assert!((40..=PACKET_MAX).contains(&bytes.len()), "{}", bytes.len());
        assert!(!contains(bytes, MARKER), "plaintext from {from}");
        let (flags, tid, nonce) = clear(bytes);
        let is_client = nonce & 1 == 1;
        // What servers say without a box has the nonce of what caused it, and no key.
        if is_client || flags == 0 {
            let fresh = self.nonces.insert((is_client, tid, nonce.to_be_bytes()));
            assert!(fresh, "a nonce twice under {tid:?} from {from}");
        }
        if is_client && flags != 0 {
            assert!((1_024..=usize::from(M_MAX)).contains(&bytes.len()));
        }
    }

    /// An engine has done all that it had to do.
    pub fn settled(server: &Server, client: &Client) {
        Self::server(server);
        let load = client.load();
        assert_eq!(load.tids[0], load.tids[1], "TIDs: {load:?}");
        assert!(load.held <= AHEAD_TOTAL && load.granted <= GRANT as usize);
        assert!(load.work <= load.tunnels && load.ready == 0 && load.plain == 0);
    }

    /// The same for a server alone.
    pub fn server(server: &Server) {
        let load = server.load();
        assert_eq!(load.tids[0], load.tids[1], "TIDs: {load:?}");
        assert!(load.held <= AHEAD_TOTAL, "{load:?}");
        assert!(load.granted <= GRANT as usize, "{load:?}");
        assert!(load.connections <= CONNECTIONS_MAX, "{load:?}");
        assert!(load.control <= CONTROL_MAX + CONTROL_OVER, "{load:?}");
        assert!(load.silent <= 2 * load.tunnels + 130, "{load:?}");
        assert!(load.plain <= PLAIN_MAX && load.ready == 0, "{load:?}");
        assert!(
            load.work <= load.tunnels * CONNECTIONS_MAX + 4_096,
            "{load:?}"
        );
    }
}
