//! BLAKE3 with a key (its paper, sections 2.1 to 2.5): chunks of all inputs share the lanes, and then
//! the nodes of all their trees, level by level.

use core::array;
use core::cmp::Reverse;

use super::kernel::{Chunk, Lane};
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
pub type Kernel<const N: usize> = fn(&[u32; 8], &[Lane<'_, Chunk>; N]) -> [Digest; N];

/// All inputs in lanes.
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
    first: usize,
    width: usize,
}

impl<'a> Forest<'a> {
    fn new(inputs: &'a [Input<'a>]) -> Self {
        let mut trees = [Tree::default(); CHUNKS_MAX];
        let mut first = 0;
        for (tree, input) in trees.iter_mut().zip(inputs) {
            let width = chunks(input);
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
        let (words, _) = key.as_chunks();
        let key = array::from_fn(|i| u32::from_le_bytes(words[i]));
        let mut jobs = [Job::default(); CHUNKS_MAX];
        let n = self.chunks(&mut jobs);
        self.run(kernel, &key, &jobs[..n]);
        while self.trees.iter().any(|tree| tree.width > 1) {
            let n = self.nodes(&mut jobs);
            self.run(kernel, &key, &jobs[..n]);
            self.rise();
        }
        for (digest, tree) in out.iter_mut().zip(self.trees) {
            *digest = self.digests[tree.first];
        }
    }

    /// All chunks, the longest first: those of about the same length shall share a vector.
    fn chunks(&self, jobs: &mut [Job; CHUNKS_MAX]) -> usize {
        let widest = self.trees.iter().map(|tree| tree.width).max().unwrap_or(0);
        let chunk = |place: usize| {
            let trees = self.trees.iter().zip(self.inputs).enumerate();
            let wide = trees.filter(move |(_, (tree, _))| place < tree.width);
            wide.map(move |(i, (_, input))| Job {
                input: i,
                place,
                len: Some(CHUNK.min(input.len() - place * CHUNK)),
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
            len: None,
        };
        let trees = self.trees.iter().enumerate();
        let nodes =
            |(i, tree): (usize, &Tree)| (0..tree.width / 2).map(move |place| node(i, place));
        fill(jobs, trees.flat_map(nodes))
    }

    /// The level that was hashed becomes the level of all digests: that of a node without a sibling is
    /// itself.
    fn rise(&mut self) {
        for Tree { first, width } in &mut self.trees {
            if *width > 1 && *width % 2 == 1 {
                self.digests[*first + *width / 2] = self.digests[*first + *width - 1];
            }
            *width = width.div_ceil(2);
        }
    }

    fn run<const N: usize>(&mut self, kernel: Kernel<N>, key: &[u32; 8], jobs: &[Job]) {
        for jobs in jobs.chunks(N) {
            let mut lanes = [Lane::default(); N];
            for (lane, job) in lanes.iter_mut().zip(jobs) {
                *lane = self.lane(job);
            }
            let digests = kernel(key, &lanes);
            for (digest, job) in digests.into_iter().zip(jobs) {
                self.digests[self.trees[job.input].first + job.place] = digest;
            }
        }
    }

    fn lane(&self, job: &Job) -> Lane<'_, Chunk> {
        let Tree { first, width } = self.trees[job.input];
        let root = |last: bool| if last { ROOT } else { 0 };
        let Some(len) = job.len else {
            let children = first + 2 * job.place;
            return Lane {
                pieces: [
                    &[],
                    self.digests[children..children + 2].as_flattened(),
                    &[],
                    &[],
                ],
                from: 0,
                blocks: 1,
                detail: Chunk {
                    counter: 0,
                    last_len: BLOCK as u32,
                    flags: KEYED_HASH | PARENT | root(width == 2),
                    first: 0,
                    last: 0,
                },
            };
        };
        let [head, body, tail] = self.inputs[job.input].parts();
        let blocks = len.div_ceil(BLOCK).max(1);
        Lane {
            pieces: [head, body, tail, &[]],
            from: job.place * CHUNK,
            blocks: blocks as u32,
            detail: Chunk {
                counter: job.place as u32,
                last_len: (len - (blocks - 1) * BLOCK) as u32,
                flags: KEYED_HASH,
                first: CHUNK_START,
                last: CHUNK_END | root(width == 1),
            },
        }
    }
}

/// A chunk or a node to hash, by its place on its level.
#[derive(Clone, Copy, Default)]
struct Job {
    input: usize,
    place: usize,
    /// Bytes of a chunk; a node has two digests.
    len: Option<usize>,
}

/// Puts all in front, and says how many they are.
fn fill(jobs: &mut [Job], all: impl Iterator<Item = Job>) -> usize {
    jobs.iter_mut()
        .zip(all)
        .map(|(job, one)| *job = one)
        .count()
}
