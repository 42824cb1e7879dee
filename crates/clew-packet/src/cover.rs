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
    for places in flows.values() {
        let flow: Vec<&Pending> = places.iter().map(|i| &pending[*i]).collect();
        for (i, by) in places.iter().zip(cover_windows(&flow)) {
            covers[*i] = by.map_or(Cover::Own, |by| Cover::Window(places[by]));
        }
    }
    covers
}

/// For each packet of a flow, the one whose window covers it; none for those verified by their own
/// signature. From the last backwards, and always by the window that reaches back furthest.
fn cover_windows(flow: &[&Pending]) -> Vec<Option<usize>> {
    let mut by = vec![None; flow.len()];
    let (mut end, mut above) = (flow.len(), flow.len());
    while let Some(last) = end.checked_sub(1) {
        let at = reaching_back(flow, last, above);
        let start = window_start(flow, at).unwrap_or(at);
        by[start..end].fill(Some(at));
        by[at] = None;
        (end, above) = (start, at);
    }
    by
}

/// The packet whose window covers `last`: itself, or, if a loss breaks that window, the first one
/// up to `above` whose window begins behind the loss. Itself too if there is none.
fn reaching_back(flow: &[&Pending], last: usize, above: usize) -> usize {
    if above == flow.len() || window_start(flow, last).is_some() {
        return last;
    }
    let later: Vec<usize> = (last + 1..=above).collect();
    let first = later.partition_point(|at| window_start(flow, *at).is_none());
    let covering = |at: &&usize| window_start(flow, **at).is_some_and(|start| start <= last);
    later.get(first).filter(covering).map_or(last, |at| *at)
}

/// Where the window that ends at a packet starts, if the packets that its signer hashed are here.
fn window_start(flow: &[&Pending], at: usize) -> Option<usize> {
    let Span::Window { k, h, .. } = &flow[at].span else {
        return None;
    };
    let start = (at + 1).checked_sub(*k)?;
    let before = &flow[start..at];
    let same_key = before.iter().all(|packet| packet.has_key_of(flow[at]));
    let digests = before.iter().filter_map(|packet| packet.window_digest());
    (same_key && window::hash(digests) == *h).then_some(start)
}
