//! Which packets need a verification of their own: one of each block, and one for each whole window.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use crate::{
    flow::Flow,
    pending::{Pending, Span},
    verified::BlockName,
    window,
};

/// By what a packet is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Its own signature.
    Own,
    /// That of another packet of its block: the same message and body.
    Block(usize),
    /// That of a later packet of its flow, whose window it is in. If that fails, its own.
    Window(usize),
}

/// For each packet, by what it is verified.
pub(crate) fn covers(pending: &[Pending]) -> Vec<Cover> {
    let mut covers = vec![Cover::Own; pending.len()];
    let mut blocks: BTreeMap<BlockName, usize> = BTreeMap::new();
    let mut flows: BTreeMap<Flow, Vec<usize>> = BTreeMap::new();
    for (i, packet) in pending.iter().enumerate() {
        match packet.span {
            Span::Nothing => {}
            Span::Block { name, .. } => {
                let first = *blocks.entry(name).or_insert(i);
                if first != i && packet.has_key_of(&pending[first]) {
                    covers[i] = Cover::Block(first);
                }
            }
            Span::Window { flow, .. } => flows.entry(flow).or_default().push(i),
        }
    }
    for flow in flows.values() {
        cover_windows(pending, flow, &mut covers);
    }
    covers
}

/// From the last packet of a flow backwards: one whose window is here whole covers it.
fn cover_windows(pending: &[Pending], flow: &[usize], covers: &mut [Cover]) {
    let mut end = flow.len();
    while end > 0 {
        let last = flow[end - 1];
        let before = window_before(pending, &flow[..end]);
        for i in before {
            covers[*i] = Cover::Window(last);
        }
        end -= 1 + before.len();
    }
}

/// The packets that the window of the last of `flow` covers besides it, if they are those that its
/// signer hashed; else none.
fn window_before<'f>(pending: &[Pending], flow: &'f [usize]) -> &'f [usize] {
    let Some((last, earlier)) = flow.split_last() else {
        return &[];
    };
    let packet = &pending[*last];
    let Span::Window { k, h, .. } = &packet.span else {
        return &[];
    };
    let Some(start) = (earlier.len() + 1).checked_sub(*k) else {
        return &[];
    };
    let before = &earlier[start..];
    let same_key = before.iter().all(|i| pending[*i].has_key_of(packet));
    let hash = || window::hash(before.iter().map(|i| pending[*i].message_and_body()));
    if same_key && hash() == *h {
        before
    } else {
        &[]
    }
}
