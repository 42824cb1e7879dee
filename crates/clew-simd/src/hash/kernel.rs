//! The two hash functions across lanes, written once for all kinds of vectors. They are macros, and
//! not generic functions, because what they call exists only where the processor has it: so each copy
//! names its instructions, and nothing in it is unsafe.

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

/// The function G of BLAKE3 (its paper, 2.2) on four times four words of the state, step by step in
/// all four, because each step waits for the one before it.
macro_rules! blake3_g {
    ($v:ident, $($a:literal $b:literal $c:literal $d:literal: $x:expr, $y:expr;)*) => {
        $($v[$a] = add(add($v[$a], $v[$b]), $x);)*
        $($v[$d] = rotr::<16>(xor($v[$d], $v[$a]));)*
        $($v[$c] = add($v[$c], $v[$d]);)*
        $($v[$b] = rotr::<12>(xor($v[$b], $v[$c]));)*
        $($v[$a] = add(add($v[$a], $v[$b]), $y);)*
        $($v[$d] = rotr::<8>(xor($v[$d], $v[$a]));)*
        $($v[$c] = add($v[$c], $v[$d]);)*
        $($v[$b] = rotr::<7>(xor($v[$b], $v[$c]));)*
    };
}

/// A round of BLAKE3: all columns, then all diagonals; then the message is permuted for the next.
macro_rules! blake3_round {
    ($v:ident, $m:ident) => {
        blake3_g!($v,
            0 4 8 12: $m[0], $m[1];
            1 5 9 13: $m[2], $m[3];
            2 6 10 14: $m[4], $m[5];
            3 7 11 15: $m[6], $m[7];
        );
        blake3_g!($v,
            0 5 10 15: $m[8], $m[9];
            1 6 11 12: $m[10], $m[11];
            2 7 8 13: $m[12], $m[13];
            3 4 9 14: $m[14], $m[15];
        );
        $m = [
            $m[2], $m[6], $m[3], $m[10], $m[7], $m[0], $m[4], $m[13], $m[1], $m[11], $m[12], $m[5],
            $m[9], $m[14], $m[15], $m[8],
        ];
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

/// Eight rounds with the words from `first` on, and what is done to each word then.
macro_rules! sha256_rounds {
    ($s:ident, $k:expr, $w:ident, $first:literal, $then:ident) => {{
        let k = $k;
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = $s;
        sha256_round!(a b c d e f g h, k[0], $w[$first + 0]);
        $then!($w, $first + 0);
        sha256_round!(h a b c d e f g, k[1], $w[$first + 1]);
        $then!($w, $first + 1);
        sha256_round!(g h a b c d e f, k[2], $w[$first + 2]);
        $then!($w, $first + 2);
        sha256_round!(f g h a b c d e, k[3], $w[$first + 3]);
        $then!($w, $first + 3);
        sha256_round!(e f g h a b c d, k[4], $w[$first + 4]);
        $then!($w, $first + 4);
        sha256_round!(d e f g h a b c, k[5], $w[$first + 5]);
        $then!($w, $first + 5);
        sha256_round!(c d e f g h a b, k[6], $w[$first + 6]);
        $then!($w, $first + 6);
        sha256_round!(b c d e f g h a, k[7], $w[$first + 7]);
        $then!($w, $first + 7);
        $s = [a, b, c, d, e, f, g, h];
    }};
}

/// The word of SHA-256's message schedule that is 16 after one, in its place.
macro_rules! sha256_schedule {
    ($w:ident, $i:expr) => {
        let (x, y) = ($w[($i + 1) % 16], $w[($i + 14) % 16]);
        let small = xor3(rotr::<7>(x), rotr::<18>(x), shr::<3>(x));
        let large = xor3(rotr::<17>(y), rotr::<19>(y), shr::<10>(y));
        $w[$i] = add(add($w[$i], small), add($w[($i + 9) % 16], large));
    };
}

/// After the last words nothing is left to do.
macro_rules! sha256_done {
    ($w:ident, $i:expr) => {};
}

/// The kernels of a backend, for the vectors of the module in which it stands: of type `V`, with [`LANES`]
/// words.
macro_rules! kernels {
    ($Backend:ident, $features:literal) => {
        /// Returns the digests of the chunks or nodes in the lanes.
        pub fn blake3(
            key: &[u32; 8],
            lanes: &[ChunkLane<'_>; LANES],
            chunks: &Chunks<LANES>,
        ) -> [Digest; LANES] {
            Backend::$Backend.require();
            // SAFETY: the processor has the features.
            unsafe { blake3_lanes(key, lanes, chunks) }
        }

        /// Returns the digests of the messages in the lanes.
        pub fn sha256(lanes: &[MessageLane<'_>; LANES], bits: &Bits<LANES>) -> [Digest; LANES] {
            Backend::$Backend.require();
            // SAFETY: the processor has the features.
            unsafe { sha256_lanes(lanes, bits) }
        }

        #[target_feature(enable = $features)]
        fn blake3_lanes(
            key: &[u32; 8],
            lanes: &[ChunkLane<'_>; LANES],
            chunks: &Chunks<LANES>,
        ) -> [Digest; LANES] {
            let mut cv: [V; 8] = vectors!(i => splat(key[i]));
            let counts = blocks(lanes);
            let blocks = load(&counts);
            let (counter, last_len) = (load(&chunks.counter), load(&chunks.last_len));
            let (always, last_flags) = (load(&chunks.flags), load(&chunks.last));
            let mut start = load(&chunks.first);
            let most = most(&counts);
            // The next block is loaded before this one is hashed: the processor has what to do in
            // the time that the end of one and the beginning of the next take.
            let mut next = words(lanes, 0);
            for block in 0..most {
                let words = next;
                if block + 1 < most {
                    next = self::words(lanes, block + 1);
                }
                let last = equal(blocks, splat(block + 1));
                let len = select(last, last_len, splat(64));
                let flags = or(or(always, start), select(last, last_flags, splat(0)));
                start = splat(0);
                let new = blake3_compress(&cv, words, counter, len, flags);
                let running = above(blocks, splat(block));
                cv = vectors!(i => select(running, new[i], cv[i]));
            }
            digests(cv)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn blake3_compress(cv: &[V; 8], words: [V; 16], counter: V, len: V, flags: V) -> [V; 8] {
            let mut m = words;
            let iv: [V; 4] = vectors!(i => splat(IV[i]));
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
            vectors!(i => xor(v[i], v[i + 8]))
        }

        #[target_feature(enable = $features)]
        fn sha256_lanes(lanes: &[MessageLane<'_>; LANES], bits: &Bits<LANES>) -> [Digest; LANES] {
            let mut state: [V; 8] = vectors!(i => splat(IV[i]));
            let counts = blocks(lanes);
            let blocks = load(&counts);
            let (high, low) = (load(&bits.high), load(&bits.low));
            for block in 0..most(&counts) {
                let words = words(lanes, block);
                let mut words: [V; 16] = vectors!(i => swap_bytes(words[i]));
                let last = equal(blocks, splat(block + 1));
                words[14] = select(last, high, words[14]);
                words[15] = select(last, low, words[15]);
                let new = sha256_compress(&state, words);
                let running = above(blocks, splat(block));
                state = vectors!(i => select(running, add(state[i], new[i]), state[i]));
            }
            digests(vectors!(i => swap_bytes(state[i])))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn sha256_compress(state: &[V; 8], words: [V; 16]) -> [V; 8] {
            let (mut s, mut w) = (*state, words);
            for t in [0, 16, 32] {
                sha256_rounds!(s, &K[t..], w, 0, sha256_schedule);
                sha256_rounds!(s, &K[t + 8..], w, 8, sha256_schedule);
            }
            sha256_rounds!(s, &K[48..], w, 0, sha256_done);
            sha256_rounds!(s, &K[56..], w, 8, sha256_done);
            s
        }
    };
}

pub(super) use {
    blake3_g, blake3_round, kernels, sha256_done, sha256_round, sha256_rounds, sha256_schedule,
};
