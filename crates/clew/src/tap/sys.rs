//! System calls of packet sockets that no safe crate has: `packet(7)`.
#![allow(
    unsafe_code,
    reason = "socket options and control messages of packet sockets"
)]

use nix::libc;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

/// Most frames of one call.
const FRAMES: usize = 32;

/// Room for a frame with its virtio header: more than IP can make, segmentation offload included.
const FRAME_BYTES: usize = 72 << 10;

/// Room for control messages, in words of 8 bytes: a time and the auxiliary data take 64 bytes.
const CONTROL_WORDS: usize = 32;

/// The kernel's `struct virtio_net_hdr`, in front of each frame.
pub const VIRTIO_HEADER: usize = 10;

/// What packet sockets are told.
pub trait Option: Copy {
    /// Its number at `SOL_PACKET`.
    const NUMBER: libc::c_int;
}

/// Asks for a virtio header in front of each frame.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VirtioHeaders(pub libc::c_int);

/// Asks for VLAN tags that the card took away.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Auxiliary(pub libc::c_int);

/// Receives what is addressed to other hosts on this interface.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Promiscuous(libc::packet_mreq);

impl Promiscuous {
    pub fn on(interface: usize) -> Self {
        Self(libc::packet_mreq {
            mr_ifindex: interface as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        })
    }
}

impl Option for VirtioHeaders {
    const NUMBER: libc::c_int = libc::PACKET_VNET_HDR;
}

impl Option for Auxiliary {
    const NUMBER: libc::c_int = libc::PACKET_AUXDATA;
}

impl Option for Promiscuous {
    const NUMBER: libc::c_int = libc::PACKET_ADD_MEMBERSHIP;
}

/// Sets an option of a packet socket.
pub fn set<O: Option>(socket: BorrowedFd<'_>, option: &O) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a value that lives as long as the call, and
    // the types above have the layout that the kernel expects of their number.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            O::NUMBER,
            ptr::from_ref(option).cast(),
            mem::size_of::<O>() as libc::socklen_t,
        )
    };
    done(result).map(drop)
}

/// An interface, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// Its number.
    pub index: usize,
    /// Its kind, `ARPHRD_`.
    pub kind: u16,
    /// Whether it is up.
    pub is_up: bool,
}

/// Returns the interface of that name. `getifaddrs` leaves out those without a hardware address.
///
/// # Errors
/// `ENODEV` if there is none.
pub fn interface(socket: BorrowedFd<'_>, name: &str) -> io::Result<Interface> {
    let ask = |number| ask(socket, name, number);
    let (index, kind) = (ask(libc::SIOCGIFINDEX)?, ask(libc::SIOCGIFHWADDR)?);
    let flags = ask(libc::SIOCGIFFLAGS)?;
    // SAFETY: the kernel has filled in the member that belongs to each request; all are integers.
    let (index, kind, flags) = unsafe {
        (
            index.ifr_ifru.ifru_ifindex,
            kind.ifr_ifru.ifru_hwaddr.sa_family,
            flags.ifr_ifru.ifru_flags,
        )
    };
    Ok(Interface {
        index: index as usize,
        kind,
        is_up: i32::from(flags) & libc::IFF_UP != 0,
    })
}

/// Asks one thing about the interface of that name.
fn ask(socket: BorrowedFd<'_>, name: &str, number: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: zeros are a value of this type: characters, integers, and a null pointer.
    let mut request = unsafe { mem::zeroed::<libc::ifreq>() };
    // The last character stays 0.
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: these requests read the name and write to a value of this type, which lives as long as
    // the call.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), number, &raw mut request) })?;
    Ok(request)
}

/// Receives what passes that interface, of all protocols.
pub fn bind(socket: BorrowedFd<'_>, interface: &Interface) -> io::Result<()> {
    // SAFETY: an address of zeros is a value of this type, which has only integers.
    let mut address = unsafe { mem::zeroed::<libc::sockaddr_ll>() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface.index as libc::c_int;
    // SAFETY: the pointer and the length are those of a value that lives as long as the call.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            ptr::from_ref(&address).cast(),
            mem::size_of_val(&address) as libc::socklen_t,
        )
    };
    done(result).map(drop)
}

/// How many frames the kernel dropped for want of room since the last call.
pub fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut found = MaybeUninit::<libc::tpacket_stats>::zeroed();
    let mut length = mem::size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to a value of that size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            found.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    done(result)?;
    // SAFETY: two integers, which may have any value; they were zero before the kernel wrote them.
    Ok(unsafe { found.assume_init() }.tp_drops)
}

/// A frame as the kernel hands it over.
pub struct Datagram<'a> {
    /// The virtio header and the frame, as much as there was room for.
    pub bytes: &'a [u8],
    /// The length of both.
    pub length: usize,
    /// Number of the interface.
    pub interface: usize,
    /// The direction: `PACKET_HOST`, `PACKET_OUTGOING` and so on.
    pub direction: u8,
    /// When the frame came or left, in nanoseconds since 1970.
    pub time_ns: std::option::Option<u64>,
    /// A VLAN tag that the card took away: type and value.
    pub tag: std::option::Option<[u16; 2]>,
}

/// Room for the frames of one call, used again by the next.
pub struct Buffers {
    frames: Vec<u8>,
    control: Vec<[u64; CONTROL_WORDS]>,
    addresses: Vec<libc::sockaddr_ll>,
}

impl Buffers {
    pub fn new() -> Self {
        // SAFETY: an address of zeros is a value of this type, which has only integers.
        let address = unsafe { mem::zeroed::<libc::sockaddr_ll>() };
        Self {
            frames: vec![0; FRAMES * FRAME_BYTES],
            control: vec![[0; CONTROL_WORDS]; FRAMES],
            addresses: vec![address; FRAMES],
        }
    }

    /// Receives what has come, without waiting. Returns how many frames that was.
    pub fn receive(
        &mut self,
        socket: &impl AsFd,
        mut each: impl FnMut(Datagram<'_>),
    ) -> io::Result<usize> {
        let mut pieces: Vec<libc::iovec> = self
            .frames
            .chunks_exact_mut(FRAME_BYTES)
            .map(|frame| libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: FRAME_BYTES,
            })
            .collect();
        let parts = pieces
            .iter_mut()
            .zip(&mut self.control)
            .zip(&mut self.addresses);
        let mut headers: Vec<libc::mmsghdr> = parts
            .map(|((piece, control), address)| header(piece, control, address))
            .collect();
        // SAFETY: each header points to a piece, a control buffer and an address of its own, with
        // their lengths; all of them live, and nobody else uses them, until the end of this function.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                ptr::null_mut(),
            )
        };
        let received = done(result)? as usize;
        let frames = self.frames.chunks_exact(FRAME_BYTES);
        for ((header, frame), address) in headers
            .iter()
            .zip(frames)
            .zip(&self.addresses)
            .take(received)
        {
            let length = header.msg_len as usize;
            let (time_ns, tag) = control_messages(&header.msg_hdr);
            each(Datagram {
                bytes: &frame[..length.min(FRAME_BYTES)],
                length,
                interface: address.sll_ifindex as usize,
                direction: address.sll_pkttype,
                time_ns,
                tag,
            });
        }
        Ok(received)
    }
}

fn header(
    piece: &mut libc::iovec,
    control: &mut [u64; CONTROL_WORDS],
    address: &mut libc::sockaddr_ll,
) -> libc::mmsghdr {
    // SAFETY: null pointers and zeros are values of this type; some systems pad it.
    let mut header = unsafe { mem::zeroed::<libc::mmsghdr>() };
    header.msg_hdr.msg_name = ptr::from_mut(address).cast();
    header.msg_hdr.msg_namelen = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    header.msg_hdr.msg_iov = piece;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_control = control.as_mut_ptr().cast();
    header.msg_hdr.msg_controllen = mem::size_of_val(control) as _;
    header
}

/// The time and the tag among the control messages of a frame.
fn control_messages(
    header: &libc::msghdr,
) -> (std::option::Option<u64>, std::option::Option<[u16; 2]>) {
    let (mut time, mut tag) = (None, None);
    // SAFETY: the kernel filled the control buffer of this header, which is alive and aligned for
    // control messages, and set its length; the macros stay within it. A message of these kinds has
    // a value of that type, which may stand unaligned.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = message.as_ref() {
            let data = libc::CMSG_DATA(message);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    time = nanoseconds(data.cast::<libc::timespec>().read_unaligned());
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    tag = vlan(&data.cast::<libc::tpacket_auxdata>().read_unaligned());
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    (time, tag)
}

fn nanoseconds(time: libc::timespec) -> std::option::Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let below = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(below)
}

/// Older kernels do not say the type: it is 802.1Q then.
fn vlan(auxiliary: &libc::tpacket_auxdata) -> std::option::Option<[u16; 2]> {
    let has = |flag| auxiliary.tp_status & flag != 0;
    let kind = match has(libc::TP_STATUS_VLAN_TPID_VALID) {
        true => auxiliary.tp_vlan_tpid,
        false => 0x8100,
    };
    has(libc::TP_STATUS_VLAN_VALID).then_some([kind, auxiliary.tp_vlan_tci])
}

fn done(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(result),
    }
}
