//! NFQUEUE: packets that wait for a verdict of this process.

use super::Netlink;
use super::message::{Message, each};
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Most packets that wait in the kernel. More are dropped there, and counted.
const QUEUE_MAX: u32 = 4_096;

/// Bytes of the socket's buffer, which the packets count in, too.
const SOCKET_BUFFER: usize = 8 << 20;

/// The largest part of a packet that the kernel copies: the length of an attribute has 16 bits.
const COPY_MAX: u32 = 0xffff - 4;

/// Higher than the number of any packet of a new queue.
const ID_FAR: u32 = 0x3fff_ffff;

/// Packets, verdicts and set-up, in the subsystem of queues.
const SUBSYSTEM: u16 = 3 << 8;
const PACKET: u16 = SUBSYSTEM;
const CONFIG: u16 = SUBSYSTEM | 2;
/// A verdict about a packet and all that came before it.
const VERDICTS: u16 = SUBSYSTEM | 3;

/// What a process says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The kernel forgets it.
    Drop = 0,
    /// It goes on to later rules.
    Accept = 1,
}

/// A queue of which this process has the packets. They go when it is dropped.
#[derive(Debug)]
pub(crate) struct Queue {
    netlink: Netlink,
    number: u16,
    room: Vec<u8>,
}

impl Queue {
    /// Takes a queue over.
    ///
    /// # Errors
    /// The kernel has no queues, another process has this one, or this process may not.
    pub fn bind(number: u16) -> io::Result<Self> {
        let netlink = Netlink::open()?;
        setsockopt(&netlink, RcvBufForce, &SOCKET_BUFFER)?;
        let mut out = Vec::new();
        let mut message = Message::begin(&mut out, CONFIG, libc::NLM_F_ACK, 0, number);
        let [a, b, c, d] = COPY_MAX.to_be_bytes();
        message.attribute(libc::NFQA_CFG_CMD as u16, &[1, 0, 0, 0]);
        message.attribute(libc::NFQA_CFG_PARAMS as u16, &[a, b, c, d, 2]);
        message.attribute(libc::NFQA_CFG_QUEUE_MAXLEN as u16, &QUEUE_MAX.to_be_bytes());
        message.end();
        netlink.send(&out)?;
        netlink.answers()?;
        let queue = Self {
            netlink,
            number,
            room: vec![0; 0x10000 + 4_096],
        };
        // What came before the answer was not read.
        queue.say(Some((Judged::Drop, ID_FAR.to_be_bytes())))?;
        Ok(queue)
    }

    /// Takes packets without waiting, at most so many, and says what `judge` says of each. Returns
    /// whether there may be more.
    ///
    /// # Errors
    /// The socket's.
    pub fn take(&mut self, most: usize, judge: impl FnMut(&[u8]) -> Judged) -> io::Result<bool> {
        let mut run: Option<(Judged, [u8; 4])> = None;
        let taken = self.judge(most, &mut run, judge);
        // Also if the socket failed: these packets wait.
        self.say(run)?;
        taken
    }

    fn judge(
        &mut self,
        most: usize,
        run: &mut Option<(Judged, [u8; 4])>,
        mut judge: impl FnMut(&[u8]) -> Judged,
    ) -> io::Result<bool> {
        for _ in 0..most {
            let mut room = std::mem::take(&mut self.room);
            let received = self.netlink.receive(&mut room);
            let found = received.map(|bytes| bytes.map(|bytes| found(bytes, &mut judge)));
            self.room = room;
            let judged = match found {
                Ok(Some(judged)) => judged,
                Ok(None) => return Ok(false),
                // The kernel has counted what found no room.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => continue,
                Err(other) => return Err(other),
            };
            for (verdict, id) in judged {
                // One message tells all up to a packet the same.
                if run.is_some_and(|(before, _)| before != verdict) {
                    self.say(run.take())?;
                }
                *run = Some((verdict, id));
            }
        }
        Ok(true)
    }

    fn say(&self, run: Option<(Judged, [u8; 4])>) -> io::Result<()> {
        let Some((verdict, id)) = run else {
            return Ok(());
        };
        let mut value = (verdict as u32).to_be_bytes().to_vec();
        value.extend(id);
        let mut out = Vec::new();
        let mut message = Message::begin(&mut out, VERDICTS, 0, 0, self.number);
        message.attribute(libc::NFQA_VERDICT_HDR as u16, &value);
        message.end();
        self.netlink.send(&out)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netlink.as_fd()
    }
}

/// The packets of one message, judged. One whose bytes are missing goes on to later rules.
fn found(bytes: &[u8], judge: &mut impl FnMut(&[u8]) -> Judged) -> Vec<(Judged, [u8; 4])> {
    let packets = each(bytes).filter(|message| message.kind == PACKET);
    let judged = packets.filter_map(|packet| {
        let id = packet.attribute(libc::NFQA_PACKET_HDR as u16)?;
        let is_cut = packet.attribute(libc::NFQA_CAP_LEN as u16).is_some();
        let payload = packet.attribute(libc::NFQA_PAYLOAD as u16);
        let verdict = payload
            .filter(|_| !is_cut)
            .map_or(Judged::Accept, &mut *judge);
        Some((verdict, *id.first_chunk()?))
    });
    judged.collect()
}

/// Returns how many packets the kernel dropped for want of room, by the text of
/// `/proc/net/netfilter/nfnetlink_queue`: in the queue, and in the socket's buffer.
pub(crate) fn dropped(text: &str, number: u16) -> Option<[u64; 2]> {
    let fields = |line: &str| -> Vec<u64> {
        let words = line.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let mut lines = text.lines().map(fields);
    let ours = lines.find(|fields| fields.first() == Some(&number.into()))?;
    Some([*ours.get(5)?, *ours.get(6)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_counts_are_read() {
        let text = "    7  20683     0 2 65531     1     2        3  1\n \
             4909  20684     5 2 65531    30    40      100  1\n";
        assert_eq!(dropped(text, 4909), Some([30, 40]));
        assert_eq!(dropped(text, 8), None);
        assert_eq!(dropped("4909 1 2", 4909), None);
    }

    #[test]
    fn packets_are_judged_and_other_messages_are_not() {
        let mut out = Vec::new();
        for (kind, id) in [(PACKET, 1_u32), (CONFIG, 2), (PACKET, 3)] {
            let mut message = Message::begin(&mut out, kind, 0, 2, 1);
            let mut header = id.to_be_bytes().to_vec();
            header.extend([8, 0, 0]);
            message.attribute(libc::NFQA_PACKET_HDR as u16, &header);
            message.attribute(libc::NFQA_PAYLOAD as u16, &[id as u8; 9]);
            if id == 3 {
                message.attribute(libc::NFQA_CAP_LEN as u16, &[0, 0, 1, 0]);
            }
            message.end();
        }
        let judged = found(&out, &mut |packet: &[u8]| {
            assert_eq!(packet, [1; 9]);
            Judged::Drop
        });
        let ids = [1_u32, 3].map(u32::to_be_bytes);
        assert_eq!(judged, [(Judged::Drop, ids[0]), (Judged::Accept, ids[1])]);
    }
}
