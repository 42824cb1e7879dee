//! Salsa20 across lanes, written once for all kinds of vectors. It is a macro, and not a generic
//! function, because what it calls exists only where the processor has it: so each copy names its
//! instructions, and only its call is unsafe.

/// The quarter round on four times four words, step by step in all four, because each step waits for
/// the one before it.
macro_rules! quarters {
    ($x:ident, $($a:literal $b:literal $c:literal $d:literal),*) => {
        $($x[$b] = xor($x[$b], rotr::<{ 32 - 7 }>(add($x[$a], $x[$d])));)*
        $($x[$c] = xor($x[$c], rotr::<{ 32 - 9 }>(add($x[$b], $x[$a])));)*
        $($x[$d] = xor($x[$d], rotr::<{ 32 - 13 }>(add($x[$c], $x[$b])));)*
        $($x[$a] = xor($x[$a], rotr::<{ 32 - 18 }>(add($x[$d], $x[$c])));)*
    };
}

/// 20 rounds: of columns and of rows, in turns.
macro_rules! twenty_rounds {
    ($x:ident) => {
        for _ in 0..10 {
            quarters!($x, 0 4 8 12, 5 9 13 1, 10 14 2 6, 15 3 7 11);
            quarters!($x, 0 1 2 3, 5 6 7 4, 10 11 8 9, 15 12 13 14);
        }
    };
}

/// `blocks` of a backend, of the functions `columns`, `rows`, `add`, `xor` and `rotr` around it.
#[cfg(target_arch = "x86_64")]
macro_rules! kernel {
    ($Backend:ident, $features:literal) => {
        /// Returns the blocks of the states in the lanes.
        pub fn blocks(states: &[State; LANES]) -> [Block; LANES] {
            Backend::$Backend.require();
            // SAFETY: the processor has the features.
            unsafe { blocks_in_lanes(states) }
        }

        #[target_feature(enable = $features)]
        fn blocks_in_lanes(states: &[State; LANES]) -> [Block; LANES] {
            let start = columns(states);
            let mut x = start;
            twenty_rounds!(x);
            for (x, start) in x.iter_mut().zip(start) {
                *x = add(*x, start);
            }
            rows(x)
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use kernel;
pub(super) use {quarters, twenty_rounds};
