//! BLAKE3 with a key (its paper, sections 2.1 to 2.5): chunks of all inputs share the lanes, and then
//! the nodes of all their trees, level by level.

use core::array;
use core::cmp::Reverse;

use super::lane::{ChunkLane, Chunks};
use super::{Digest, Input};

const BLOCK: usize = 64;
const CHUNK: usize = 1024;

/// Most chunks at once, so that their digests stand on the stack. A longer input has enough chunks to
/// fill lanes by itself, as the crate does.
const CHUNKS_MAX: usize = 64;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;

/// What hashes a chunk or a node in each of `N` lanes.
pub type Kernel<const N: usize> = fn(&[u32; 8], &[ChunkLane<'_>; N], &Chunks<N>) -> [Digest; N];

/// Writes the digest of each input to its place in `out`, hashing N inputs together.
pub fn in_lanes<const N: usize>(
    kernel: Kernel<N>,
    key: &[u8; 32],
    mut inputs: &[Input<'_>],
    mut out: &mut [Digest],
) {
    while !inputs.is_empty() {
        let fitting = fitting(inputs);
        let (these, others) = inputs.split_at(fitting.max(1));
        let (digests, rest) = out.split_at_mut(these.len());
        match fitting {
            0 => super::portable::blake3_keyed(key, these, digests),
            _ => Forest::new(these).hash(kernel, key, digests),
        }
        (inputs, out) = (others, rest);
    }
}

/// Writes the digest of each block, N together. The first `len` bytes of a block count; zeros
/// follow.
pub fn blocks_in_lanes<const N: usize>(
    kernel: Kernel<N>,
    key: &[u8; 32],
    blocks: &[[u8; BLOCK]],
    len: usize,
    out: &mut [Digest],
) {
    assert!(len <= BLOCK, "inputs of one block");
    let key = words(key);
    let chunks = Chunks {
        counter: [0; N],
        last_len: [len as u32; N],
        flags: [KEYED_HASH; N],
        first: [CHUNK_START; N],
        last: [CHUNK_END | ROOT; N],
    };
    for (blocks, out) in blocks.chunks(N).zip(out.chunks_mut(N)) {
        let mut lanes = [ChunkLane::IDLE; N];
        for (lane, block) in lanes.iter_mut().zip(blocks) {
            *lane = ChunkLane::new([&[], block, &[]], 0, 1);
        }
        let digests = kernel(&key, &lanes, &chunks);
        out.copy_from_slice(&digests[..out.len()]);
    }
}

fn words(key: &[u8; 32]) -> [u32; 8] {
    let (words, _) = key.as_chunks();
    array::from_fn(|i| u32::from_le_bytes(words[i]))
}

/// How many of the first inputs have no more than [`CHUNKS_MAX`] chunks together.
fn fitting(inputs: &[Input<'_>]) -> usize {
    let mut sum = 0;
    let fits = |input: &&Input<'_>| {
        sum += chunks(input);
        sum <= CHUNKS_MAX
    };
    inputs.iter().take_while(fits).count()
}

/// How many chunks an input has. An empty one has one.
fn chunks(input: &Input<'_>) -> usize {
    input.len().div_ceil(CHUNK).max(1)
}

/// The trees of some inputs.
struct Forest<'a> {
    inputs: &'a [Input<'a>],
    trees: [Tree; CHUNKS_MAX],
    /// The digests of the level that was hashed last, tree by tree.
    digests: [Digest; CHUNKS_MAX],
}

/// Where the digests of an input's tree stand, and how many there are at present.
#[derive(Clone, Copy, Default)]
struct Tree {
    first: u8,
    width: u8,
}

impl<'a> Forest<'a> {
    fn new(inputs: &'a [Input<'a>]) -> Self {
        let mut trees = [Tree::default(); CHUNKS_MAX];
        let mut first = 0;
        for (tree, input) in trees.iter_mut().zip(inputs) {
            let width = chunks(input) as u8;
            *tree = Tree { first, width };
            first += width;
        }
        Self {
            inputs,
            trees,
            digests: [[0; 32]; CHUNKS_MAX],
        }
    }

    fn hash<const N: usize>(mut self, kernel: Kernel<N>, key: &[u8; 32], out: &mut [Digest]) {
        let key = words(key);
        let mut jobs = [Job::default(); CHUNKS_MAX];
        let n = self.chunks(&mut jobs);
        self.run(kernel, &key, &jobs[..n]);
        while self.trees.iter().any(|tree| tree.width > 1) {
            let n = self.nodes(&mut jobs);
            self.run(kernel, &key, &jobs[..n]);
            self.rise();
        }
        for (digest, tree) in out.iter_mut().zip(self.trees) {
            *digest = self.digests[usize::from(tree.first)];
        }
    }

    /// All chunks, the longest first: those of about the same length shall share a vector.
    fn chunks(&self, jobs: &mut [Job; CHUNKS_MAX]) -> usize {
        let widest = self.trees.iter().map(|tree| tree.width).max().unwrap_or(0);
        let chunk = |place: u8| {
            let trees = (0..).zip(self.trees.iter().zip(self.inputs));
            let wide = trees.filter(move |(_, (tree, _))| place < tree.width);
            wide.map(move |(i, (_, input))| Job {
                input: i,
                place,
                is_node: false,
                len: CHUNK.min(input.len() - usize::from(place) * CHUNK) as u16,
            })
        };
        let n = fill(jobs, (0..widest).flat_map(chunk));
        jobs[..n].sort_unstable_by_key(|job| Reverse(job.len));
        n
    }

    /// All nodes of the next level.
    fn nodes(&self, jobs: &mut [Job; CHUNKS_MAX]) -> usize {
        let node = |input, place| Job {
            input,
            place,
            is_node: true,
            len: 0,
        };
        let trees = (0..).zip(&self.trees);
        let nodes = |(i, tree): (u8, &Tree)| (0..tree.width / 2).map(move |place| node(i, place));
        fill(jobs, trees.flat_map(nodes))
    }

    /// The level that was hashed becomes the level of all digests: that of a node without a sibling is
    /// itself.
    fn rise(&mut self) {
        for Tree { first, width } in &mut self.trees {
            if *width > 1 && *width % 2 == 1 {
                let (last, above) = (*first + *width - 1, *first + *width / 2);
                self.digests[usize::from(above)] = self.digests[usize::from(last)];
            }
            *width = width.div_ceil(2);
        }
    }

    fn run<const N: usize>(&mut self, kernel: Kernel<N>, key: &[u32; 8], jobs: &[Job]) {
        for jobs in jobs.chunks(N) {
            let mut lanes = [ChunkLane::IDLE; N];
            let mut chunks = Chunks {
                counter: [0; N],
                last_len: [0; N],
                flags: [KEYED_HASH; N],
                first: [0; N],
                last: [0; N],
            };
            for (i, job) in jobs.iter().enumerate() {
                lanes[i] = self.lane(job, i, &mut chunks);
            }
            let digests = kernel(key, &lanes, &chunks);
            for (digest, job) in digests.iter().zip(jobs) {
                let first = self.trees[usize::from(job.input)].first;
                self.digests[usize::from(first + job.place)] = *digest;
            }
        }
    }

    /// The lane of a job, which is lane number `i`.
    fn lane<const N: usize>(&self, job: &Job, i: usize, chunks: &mut Chunks<N>) -> ChunkLane<'_> {
        let Tree { first, width } = self.trees[usize::from(job.input)];
        let [head, body, tail] = self.inputs[usize::from(job.input)].parts();
        let (place, len) = (usize::from(job.place), usize::from(job.len));
        if job.is_node {
            chunks.flags[i] |= PARENT;
            chunks.last[i] = if width == 2 { ROOT } else { 0 };
            chunks.last_len[i] = BLOCK as u32;
            let children = &self.digests[usize::from(first) + 2 * place..][..2];
            return ChunkLane::new([&[], children.as_flattened(), &[]], 0, 1);
        }
        let before_last = len.saturating_sub(1) / BLOCK;
        chunks.counter[i] = place as u32;
        chunks.first[i] = CHUNK_START;
        chunks.last[i] = CHUNK_END | if width == 1 { ROOT } else { 0 };
        chunks.last_len[i] = (len - before_last * BLOCK) as u32;
        ChunkLane::new([head, body, tail], place * CHUNK, before_last as u32 + 1)
    }
}

/// A chunk or a node to hash, by its place on its level.
#[derive(Clone, Copy, Default)]
struct Job {
    input: u8,
    place: u8,
    is_node: bool,
    /// Bytes of a chunk.
    len: u16,
}

/// Puts all in front, and says how many they are.
fn fill(jobs: &mut [Job], all: impl Iterator<Item = Job>) -> usize {
    jobs.iter_mut()
        .zip(all)
        .map(|(job, one)| *job = one)
        .count()
}
