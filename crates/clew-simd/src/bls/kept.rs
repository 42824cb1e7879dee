//! Memory that is kept between calls: fresh pages would take a fifth of a batch's time.
//!
//! At most [`SLOTS`] workspaces of a few megabytes, whose numbers are public.
#![allow(unsafe_code, reason = "a box behind an atomic pointer")]

use super::digits::{Pick, Table};
use super::kernel::Kernel;
use super::tree::Scratch;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Threads that find their memory again; what others use is freed.
const SLOTS: usize = 4;

type Kept = Box<dyn Any + Send>;

/// What sums of many points need, used again and again.
#[derive(Debug)]
pub struct Workspace<K: Kernel> {
    /// Tables of points with digits of 4 bits.
    pub tables_of_8: Table<8>,
    /// Tables of points with digits of 5 bits, of two kinds.
    pub tables_of_16: [Table<16>; 2],
    /// What is picked from them.
    pub picks: Vec<Pick>,
    /// Points and their sums.
    pub scratch: Scratch<K>,
}

impl<K: Kernel> Default for Workspace<K> {
    fn default() -> Self {
        Self {
            tables_of_8: Table::default(),
            tables_of_16: [Table::default(), Table::default()],
            picks: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

static KEPT: [AtomicPtr<Kept>; SLOTS] = [const { AtomicPtr::new(null_mut()) }; SLOTS];

/// Runs `work` in memory that earlier work left, or in new one.
pub fn with<K: Kernel, T>(work: impl FnOnce(&mut Workspace<K>) -> T) -> T {
    let mut workspace: Box<Workspace<K>> = KEPT.iter().find_map(take).unwrap_or_default();
    let out = work(&mut workspace);
    keep(workspace);
    out
}

/// The slot's workspace, if it has one of this type.
fn take<W: Any>(slot: &AtomicPtr<Kept>) -> Option<Box<W>> {
    let kept = slot.swap(null_mut(), Ordering::Acquire);
    if kept.is_null() {
        return None;
    }
    // SAFETY: `keep` leaves pointers of boxes only, and the swap gives each to one taker.
    let kept = unsafe { Box::from_raw(kept) };
    kept.downcast().ok()
}

fn keep(workspace: Box<impl Any + Send>) {
    let new: *mut Kept = Box::into_raw(Box::new(workspace));
    for slot in &KEPT {
        let left = slot.compare_exchange(null_mut(), new, Ordering::Release, Ordering::Relaxed);
        if left.is_ok() {
            return;
        }
    }
    // SAFETY: the pointer is that of the box above, and no slot took it.
    drop(unsafe { Box::from_raw(new) });
}
