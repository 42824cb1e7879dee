//! Requests to valgrind's memcheck: the protocol of its `valgrind.h` and `memcheck.h` (public
//! interface, BSD licence), written out so that no header is needed to build. Outside valgrind, and
//! on other processors than x86-64, they do nothing.
//!
//! To memcheck a secret is a value that was never set: it may be copied and computed with, and what
//! comes out is secret too, but a branch or an address that depends on it is an error.
#![allow(
    unsafe_code,
    reason = "a request is a sequence of instructions that only valgrind knows"
)]

/// `VG_USERREQ__RUNNING_ON_VALGRIND` and `VG_USERREQ__COUNT_ERRORS` of valgrind.h.
const RUNNING: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;

/// `VG_USERREQ_TOOL_BASE('M','C')` and what memcheck.h counts from there.
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
const MAKE_MEM_DEFINED: usize = MEMCHECK + 2;
const GET_VBITS: usize = MEMCHECK + 8;

/// Whether valgrind runs this program.
pub fn is_running() -> bool {
    request([RUNNING, 0, 0, 0]) != 0
}

/// Errors that valgrind has reported so far, those that it suppressed left out.
pub fn errors() -> usize {
    request([COUNT_ERRORS, 0, 0, 0])
}

/// Makes all bytes of `value` secret. What it points to is not followed, so it should hold no
/// pointers: they would be secret themselves. Exclusive, so that the compiler keeps no copy of an
/// unmarked byte in a register.
pub fn mark_secret<T: ?Sized>(value: &mut T) {
    request([MAKE_MEM_UNDEFINED, address(value), size_of_val(value), 0]);
}

/// Makes all bytes of `value` public: whatever it says may be known to all.
pub fn mark_public<T>(value: &mut T) {
    request([MAKE_MEM_DEFINED, address(value), size_of_val(value), 0]);
}

/// Whether any bit of `value` depends on a secret. Padding counts.
pub fn is_secret<T>(value: &T) -> bool {
    let size = size_of_val(value);
    let mut bits = vec![0u8; size];
    let answer = request([
        GET_VBITS,
        address(value),
        bits.as_mut_ptr().expose_provenance(),
        size,
    ]);
    answer == 1 && bits.iter().any(|byte| *byte != 0)
}

fn address<T: ?Sized>(value: &T) -> usize {
    (&raw const *value).cast::<u8>().expose_provenance()
}

/// Valgrind's answer to a request and its arguments, 0 without valgrind.
#[cfg(target_arch = "x86_64")]
fn request([name, a, b, c]: [usize; 4]) -> usize {
    let arguments: [usize; 6] = [name, a, b, c, 0, 0];
    let mut answer: usize = 0;
    // SAFETY: the four rotations add up to 128 bits and leave rdi as it was, the exchange does
    // nothing; so on a processor only flags change. Valgrind knows the sequence, reads the six words
    // at rax and answers in rdx. Of memory it writes only what GET_VBITS names, a live vector of that
    // length; all else is bookkeeping of its own. The compiler takes all memory that has left the
    // function as read and written, because `nomem` and `readonly` are not given.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: [usize; 4]) -> usize {
    0
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    /// Where blst keeps what it learnt of the processor before `main`: bit 0 is adx, bit 1 sha.
    static mut __blst_platform_cap: i32;
}

/// Makes blst run its code for adx, or for all other processors. Valgrind executes adx, but does not
/// announce it to the programs it runs; without valgrind the processor must have it.
#[cfg(target_arch = "x86_64")]
pub fn choose_blst(adx: bool) {
    // SAFETY: blst writes this before `main` only and reads it in calls; this program has one thread.
    unsafe { __blst_platform_cap = __blst_platform_cap & !1 | i32::from(adx) };
}

#[cfg(not(target_arch = "x86_64"))]
pub fn choose_blst(_: bool) {}
