//! Messages of netlink, written and read. Numbers are in the host's order unless it says otherwise.

use nix::libc;
use std::io;

/// Length of a message's header, and with that of the packet filter's own behind it.
const HEADER: usize = 16;
const HEADERS: usize = HEADER + 4;

/// A message that is being written.
pub(super) struct Message<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Message<'a> {
    /// Begins one. `resource` is what the subsystem calls so: a queue, or another subsystem.
    pub fn begin(out: &'a mut Vec<u8>, kind: u16, flags: i32, family: u8, resource: u16) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(&((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
        // Neither sequence numbers nor ports are needed: one answer follows one question.
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&[family, 0]);
        out.extend_from_slice(&resource.to_be_bytes());
        Self { out, start }
    }

    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.append(&attribute(kind, value))
    }

    /// Appends attributes that are written already.
    pub fn append(&mut self, attributes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(attributes);
        self
    }

    pub fn end(self) {
        let length = (self.out.len() - self.start) as u32;
        self.out[self.start..self.start + 4].copy_from_slice(&length.to_ne_bytes());
    }
}

/// An attribute with its padding.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 8);
    out.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// An attribute that holds others.
pub(super) fn nested(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | libc::NLA_F_NESTED as u16, attributes)
}

/// A message that was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    pub kind: u16,
    body: &'a [u8],
}

impl<'a> Received<'a> {
    /// Returns the error that the message tells of, if it is one.
    pub fn refusal(&self) -> io::Result<()> {
        let code = self.body.first_chunk().copied().map(i32::from_ne_bytes);
        match code {
            Some(code) if self.kind == libc::NLMSG_ERROR as u16 && code != 0 => {
                Err(io::Error::from_raw_os_error(code.wrapping_neg()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the first attribute of a kind.
    pub fn attribute(&self, kind: u16) -> Option<&'a [u8]> {
        let attributes = self.body.get(HEADERS - HEADER..)?;
        let of_kind = |(found, _): &(u16, &[u8])| *found & libc::NLA_TYPE_MASK as u16 == kind;
        let mut all = parts(attributes, 4, |head| {
            let length = u16::from_ne_bytes([head[0], head[1]]);
            (usize::from(length), u16::from_ne_bytes([head[2], head[3]]))
        });
        all.find(of_kind).map(|(_, value)| value)
    }
}

/// Returns the messages of what was received once.
pub(super) fn each(bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    let all = parts(bytes, HEADER, |head| {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]);
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        (usize::try_from(length).unwrap_or(usize::MAX), kind)
    });
    all.map(|(kind, body)| Received { kind, body })
}

/// Cuts bytes into parts that begin with a header, which tells their length and kind. Ends at the first
/// that is not whole.
fn parts(
    mut bytes: &[u8],
    header: usize,
    read: impl Fn(&[u8]) -> (usize, u16),
) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = read(bytes.get(..header)?);
        let value = bytes.get(header..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        for kind in [7, 8] {
            let mut message = Message::begin(&mut out, kind, libc::NLM_F_ACK, 2, 4909);
            message.attribute(1, &[1, 2, 3]).attribute(2, &[9; 4]);
            message.end();
        }
        let read: Vec<_> = each(&out).collect();
        assert_eq!([read[0].kind, read[1].kind], [7, 8]);
        assert_eq!(read[1].attribute(1), Some(&[1, 2, 3][..]));
        assert_eq!(read[1].attribute(2), Some(&[9; 4][..]));
        assert_eq!(read[1].attribute(3), None);
        assert!(read[0].refusal().is_ok());
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut out = Vec::new();
        let mut message = Message::begin(&mut out, 7, 0, 2, 1);
        message.attribute(1, &[5; 30]);
        message.end();
        for end in 0..out.len() {
            assert_eq!(each(&out[..end]).count(), 0, "{end}");
        }
        // Lengths that lie.
        for (at, lie) in [(0, 3_u8), (0, 255), (20, 3), (20, 255)] {
            let mut bad = out.clone();
            bad[at] = lie;
            let found = each(&bad).filter_map(|message| message.attribute(1));
            assert_eq!(found.count(), 0, "{at} {lie}");
        }
    }

    #[test]
    fn refusals_are_errors() {
        let code = (-libc::EBUSY).to_ne_bytes();
        let refused = Received {
            kind: libc::NLMSG_ERROR as u16,
            body: &code,
        };
        let error = refused.refusal().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBUSY));
        let done = Received {
            body: &[0; 4],
            ..refused
        };
        done.refusal().unwrap();
    }
}
