//! The two compression functions across lanes, written once for all kinds of vectors. They are
//! macros, and not generic functions, because what they call exists only where the processor has it:
//! so each copy names its instructions, and nothing in it is unsafe.

/// What is hashed in one lane.
#[derive(Clone, Copy, Default)]
pub struct Lane<'a, D> {
    /// Its message is the concatenation of these, from byte `from` on.
    pub pieces: [&'a [u8]; 4],
    pub from: usize,
    /// How many blocks of it; none for a lane that is not needed.
    pub blocks: u32,
    /// What else the hash function wants to know: [`Chunk`], or the message's bits.
    pub detail: D,
}

impl<'a, D> Lane<'a, D> {
    /// The block, if it stands as it is in the second piece: the packet.
    #[inline]
    pub fn in_place(&self, block: u32) -> Option<&'a [u8; 64]> {
        let start = self.start(block).wrapping_sub(self.pieces[0].len());
        self.pieces[1].get(start..)?.first_chunk()
    }

    /// Where in the message the block starts.
    #[inline]
    pub fn start(&self, block: u32) -> usize {
        self.from + block as usize * 64
    }

    /// The block, with zeros behind the end of the message.
    pub fn copied(&self, block: u32) -> [u8; 64] {
        let mut bytes = [0; 64];
        let (mut skip, mut filled) = (self.start(block), 0);
        for piece in self.pieces {
            let rest = piece.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(piece.len());
            let part = &rest[..rest.len().min(64 - filled)];
            bytes[filled..][..part.len()].copy_from_slice(part);
            filled += part.len();
        }
        bytes
    }
}

/// What BLAKE3 wants to know of a chunk or of a node.
#[derive(Clone, Copy, Default)]
pub struct Chunk {
    /// A chunk's place within the input; 0 for a node.
    pub counter: u32,
    /// Bytes in the last block.
    pub last_len: u32,
    /// Flags of every block, and those added in the first and in the last one.
    pub flags: u32,
    pub first: u32,
    pub last: u32,
}

/// The first words of the fractions of the square roots of the first primes (FIPS 180-4, 5.3.3).
pub const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Those of the cube roots (FIPS 180-4, 4.2.2).
#[rustfmt::skip]
pub static K: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// One G of BLAKE3 (its paper, 2.2) on the words `a`, `b`, `c`, `d` of the state.
macro_rules! g {
    ($v:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        $v[$a] = add(add($v[$a], $v[$b]), $x);
        $v[$d] = rotr::<16>(xor($v[$d], $v[$a]));
        $v[$c] = add($v[$c], $v[$d]);
        $v[$b] = rotr::<12>(xor($v[$b], $v[$c]));
        $v[$a] = add(add($v[$a], $v[$b]), $y);
        $v[$d] = rotr::<8>(xor($v[$d], $v[$a]));
        $v[$c] = add($v[$c], $v[$d]);
        $v[$b] = rotr::<7>(xor($v[$b], $v[$c]));
    };
}

/// A round of BLAKE3: all columns, then all diagonals; then the message is permuted for the next.
macro_rules! blake3_round {
    ($v:ident, $m:ident) => {
        g!($v, 0, 4, 8, 12, $m[0], $m[1]);
        g!($v, 1, 5, 9, 13, $m[2], $m[3]);
        g!($v, 2, 6, 10, 14, $m[4], $m[5]);
        g!($v, 3, 7, 11, 15, $m[6], $m[7]);
        g!($v, 0, 5, 10, 15, $m[8], $m[9]);
        g!($v, 1, 6, 11, 12, $m[10], $m[11]);
        g!($v, 2, 7, 8, 13, $m[12], $m[13]);
        g!($v, 3, 4, 9, 14, $m[14], $m[15]);
        $m = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8].map(|i: usize| $m[i]);
    };
}

/// A round of SHA-256 (FIPS 180-4, 6.2.2), whose words have moved on by as many places as it has
/// rounds before it.
macro_rules! sha256_round {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $k:expr, $w:expr) => {
        let sum = xor3(rotr::<6>($e), rotr::<11>($e), rotr::<25>($e));
        let t1 = add(add(add($h, splat($k)), $w), add(sum, choose($e, $f, $g)));
        let sum = xor3(rotr::<2>($a), rotr::<13>($a), rotr::<22>($a));
        $d = add($d, t1);
        $h = add(t1, add(sum, majority($a, $b, $c)));
    };
}

macro_rules! sha256_rounds {
    ($s:ident, $k:expr, $w:expr) => {{
        let (k, w) = ($k, $w);
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = $s;
        sha256_round!(a b c d e f g h, k[0], w[0]);
        sha256_round!(h a b c d e f g, k[1], w[1]);
        sha256_round!(g h a b c d e f, k[2], w[2]);
        sha256_round!(f g h a b c d e, k[3], w[3]);
        sha256_round!(e f g h a b c d, k[4], w[4]);
        sha256_round!(d e f g h a b c, k[5], w[5]);
        sha256_round!(c d e f g h a b, k[6], w[6]);
        sha256_round!(b c d e f g h a, k[7], w[7]);
        $s = [a, b, c, d, e, f, g, h];
    }};
}

/// The next 16 words of SHA-256's message schedule, each in the place of the one 16 before it.
macro_rules! sha256_schedule {
    ($w:ident: $($i:literal)*) => { $(
        let (x, y) = ($w[($i + 1) % 16], $w[($i + 14) % 16]);
        let small = xor3(rotr::<7>(x), rotr::<18>(x), shr::<3>(x));
        let large = xor3(rotr::<17>(y), rotr::<19>(y), shr::<10>(y));
        $w[$i] = add(add($w[$i], small), add($w[($i + 9) % 16], large));
    )* };
}

/// The kernels, for the vectors of the module in which it stands: of type `V`, with [`LANES`] words.
macro_rules! kernels {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        fn blake3_lanes(key: &[u32; 8], lanes: &[Lane<'_, Chunk>; LANES]) -> [Digest; LANES] {
            let mut cv = key.map(|word| splat(word));
            let blocks = load(&lanes.each_ref().map(|lane| lane.blocks));
            let [counter, last_len, flags, first, last_flags] = [
                |chunk: Chunk| chunk.counter,
                |chunk: Chunk| chunk.last_len,
                |chunk: Chunk| chunk.flags,
                |chunk: Chunk| chunk.first,
                |chunk: Chunk| chunk.last,
            ]
            .map(|value| load(&lanes.each_ref().map(|lane| value(lane.detail))));
            let mut start = first;
            for block in 0..most(lanes) {
                let words = words(lanes, block);
                let last = equal(blocks, splat(block + 1));
                let len = select(last, last_len, splat(64));
                let flags = or(or(flags, start), select(last, last_flags, splat(0)));
                start = splat(0);
                let new = blake3_compress(&cv, words, counter, len, flags);
                let running = above(blocks, splat(block));
                cv = array::from_fn(|i| select(running, new[i], cv[i]));
            }
            digests(cv)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn blake3_compress(cv: &[V; 8], words: [V; 16], counter: V, len: V, flags: V) -> [V; 8] {
            let mut m = words;
            let iv = IV.map(|word| splat(word));
            let mut v = [
                cv[0], cv[1], cv[2], cv[3], cv[4], cv[5], cv[6], cv[7], iv[0], iv[1], iv[2], iv[3],
                counter, splat(0), len, flags,
            ];
            blake3_round!(v, m);
            blake3_round!(v, m);
            blake3_round!(v, m);
            blake3_round!(v, m);
            blake3_round!(v, m);
            blake3_round!(v, m);
            blake3_round!(v, m);
            let _ = m;
            array::from_fn(|i| xor(v[i], v[i + 8]))
        }

        #[target_feature(enable = $features)]
        fn sha256_lanes(lanes: &[Lane<'_, u64>; LANES]) -> [Digest; LANES] {
            let mut state = IV.map(|word| splat(word));
            let blocks = load(&lanes.each_ref().map(|lane| lane.blocks));
            let [high, low] = [32, 0]
                .map(|shift| load(&lanes.each_ref().map(|lane| (lane.detail >> shift) as u32)));
            for block in 0..most(lanes) {
                let mut words = words(lanes, block).map(|word| swap_bytes(word));
                let last = equal(blocks, splat(block + 1));
                words[14] = select(last, high, words[14]);
                words[15] = select(last, low, words[15]);
                let new = sha256_compress(&state, words);
                let running = above(blocks, splat(block));
                state = array::from_fn(|i| select(running, add(state[i], new[i]), state[i]));
            }
            digests(state.map(|word| swap_bytes(word)))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn sha256_compress(state: &[V; 8], words: [V; 16]) -> [V; 8] {
            let (mut s, mut w) = (*state, words);
            for t in (0..64).step_by(16) {
                if t > 0 {
                    sha256_schedule!(w: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                }
                sha256_rounds!(s, &K[t..t + 8], &w[..8]);
                sha256_rounds!(s, &K[t + 8..t + 16], &w[8..]);
            }
            s
        }

        /// Blocks of the longest lane.
        fn most<D>(lanes: &[Lane<'_, D>; LANES]) -> u32 {
            lanes.iter().map(|lane| lane.blocks).max().unwrap_or(0)
        }
    };
}

pub(super) use {blake3_round, g, kernels, sha256_round, sha256_rounds, sha256_schedule};
