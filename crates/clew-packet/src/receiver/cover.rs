//! Which packets need a verification of their own: one of each block, and one for each whole window.

use alloc::{collections::BTreeMap, vec, vec::Vec};

use crate::{
    net::flow::Flow,
    receiver::block_cache::BlockName,
    receiver::pending::{Pending, Span, Windows},
    sender::window,
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
pub(crate) fn covers(pending: &[Pending], windows: Windows) -> Vec<Cover> {
    let mut covers = vec![Cover::Own; pending.len()];
    let mut blocks: BTreeMap<BlockName, usize> = BTreeMap::new();
    let mut flows: BTreeMap<Flow, Vec<usize>> = BTreeMap::new();
    for (i, packet) in pending.iter().enumerate() {
        match packet.span {
            Span::Block { name, .. } => {
                let first = *blocks.entry(name).or_insert(i);
                if first != i && packet.has_key_of(&pending[first]) {
                    covers[i] = Cover::Block(first);
                }
            }
            Span::Window { flow, .. } if windows == Windows::Whole => {
                flows.entry(flow).or_default().push(i);
            }
            Span::Nothing | Span::Window { .. } => {}
        }
    }
    for places in flows.values() {
        let flow: Vec<&Pending> = places.iter().map(|i| &pending[*i]).collect();
        let by = cover_windows(flow.len(), |at| window_start(&flow, at));
        for (i, by) in places.iter().zip(by) {
            covers[*i] = by.map_or(Cover::Own, |by| Cover::Window(places[by]));
        }
    }
    covers
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
    (same_key && window::window_hash(digests) == *h).then_some(start)
}

/// For each of so many packets of a flow, the one whose window covers it; none for those verified by
/// their own signature, which are as few as can be: from the last one backwards, always by the window
/// that reaches back furthest. `start` says where the window that ends at a packet starts, if it is
/// whole.
fn cover_windows(packets: usize, start: impl Fn(usize) -> Option<usize>) -> Vec<Option<usize>> {
    let mut by = vec![None; packets];
    let (mut end, mut above) = (packets, packets);
    while let Some(last) = end.checked_sub(1) {
        let at = reaching_back(last, above.min(packets - 1), &start);
        let first = start(at).unwrap_or(at);
        by[first..end].fill(Some(at));
        by[at] = None;
        (end, above) = (first, at);
    }
    by
}

/// The packet whose window covers `last`: itself, or, if a loss breaks that window, the first one
/// up to `above` whose window begins behind the loss. Itself too if there is none.
fn reaching_back(last: usize, above: usize, start: impl Fn(usize) -> Option<usize>) -> usize {
    if start(last).is_some() {
        return last;
    }
    let later: Vec<usize> = (last + 1..=above).collect();
    let first = later.partition_point(|at| start(*at).is_none());
    let covering = |at: &&usize| start(**at).is_some_and(|first| first <= last);
    later.get(first).filter(covering).map_or(last, |at| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Which of the packets arrived, and where the windows of k start among those.
    fn starts(arrived: &[bool], k: usize) -> Vec<Option<usize>> {
        let sent: Vec<usize> = (0..arrived.len()).filter(|i| arrived[*i]).collect();
        let start = |at: usize| {
            let size = k.min(sent[at] + 1);
            let start = (at + 1).checked_sub(size)?;
            (sent[at] - sent[start] == at - start).then_some(start)
        };
        (0..sent.len()).map(start).collect()
    }

    /// Fewest signatures that cover the packets below each place.
    fn fewest(starts: &[Option<usize>]) -> usize {
        let mut least = vec![0];
        for place in 0..starts.len() {
            let reaching = (place..starts.len()).filter_map(|at| starts[at]);
            let first = reaching.filter(|first| *first <= place).min();
            least.push(1 + least[first.unwrap_or(place)]);
        }
        least[starts.len()]
    }

    proptest! {
        #[test]
        fn windows_cover_all_with_the_fewest_signatures(
            arrived in prop::collection::vec(prop::bool::weighted(0.85), 0..60),
            k in 1usize..9,
        ) {
            let starts = starts(&arrived, k);
            let by = cover_windows(starts.len(), |at| starts[at]);
            for (place, by) in by.iter().enumerate() {
                let Some(at) = by else { continue };
                prop_assert!(starts[*at].is_some_and(|start| start <= place) && place < *at);
            }
            for at in by.iter().flatten() {
                prop_assert_eq!(by[*at], None);
            }
            let own = by.iter().filter(|by| by.is_none()).count();
            prop_assert_eq!(own, fewest(&starts));
        }
    }
}
