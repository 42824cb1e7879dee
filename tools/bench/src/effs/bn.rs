//! The big numbers of AWS-LC, wrapped so that no caller needs `unsafe`: integers, arithmetic modulo an odd number
//! by Montgomery's products, and the library's own RSA. All schemes of `effs-paper` compute with these, as all of
//! the paper's did with CryptoLib's.
#![allow(unsafe_code, reason = "AWS-LC's numbers have no safe interface")]

use aws_lc_sys as lc;
use std::cmp::Ordering;
use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// Bits of a word of the library.
pub const WORD: usize = 64;

/// What the library calls RSA without padding.
const NO_PADDING: c_int = lc::RSA_NO_PADDING;

/// Checks what a call says. It fails for want of memory, or because of what the wrapper excludes.
#[track_caller]
fn done(code: c_int) {
    assert_eq!(code, 1, "AWS-LC computes");
}

fn made<T>(pointer: *mut T) -> NonNull<T> {
    NonNull::new(pointer).expect("AWS-LC has memory")
}

/// An integer that is not negative.
pub struct Num(NonNull<lc::BIGNUM>);

impl Num {
    pub fn new() -> Self {
        // SAFETY: it takes nothing, and what it gives belongs to the caller.
        Self(made(unsafe { lc::BN_new() }))
    }

    pub fn from_word(word: u64) -> Self {
        let mut own = Self::new();
        // SAFETY: the number is this one's own.
        done(unsafe { lc::BN_set_word(own.raw(), word) });
        own
    }

    /// A number of as many words as the bytes fill, zeros in front included: what products of full length need.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let own = Self::new();
        // SAFETY: it reads that many bytes and writes to a number of the wrapper's own.
        made(unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), own.0.as_ptr()) });
        own
    }

    /// The same from words, the least first.
    pub fn from_words(words: &[u64]) -> Self {
        let (own, bytes) = (
            Self::new(),
            words.iter().flat_map(|word| word.to_le_bytes()),
        );
        let bytes: Vec<u8> = bytes.collect();
        // SAFETY: it reads that many bytes and writes to a number of the wrapper's own.
        made(unsafe { lc::BN_le2bn(bytes.as_ptr(), bytes.len(), own.0.as_ptr()) });
        own
    }

    /// The number in so many bytes, the most significant first.
    ///
    /// # Panics
    /// It has more.
    pub fn to_bytes(&self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        // SAFETY: it writes no more than that many bytes.
        done(unsafe { lc::BN_bn2bin_padded(bytes.as_mut_ptr(), length, self.get()) });
        bytes
    }

    pub fn bits(&self) -> usize {
        // SAFETY: it reads a number that lives.
        unsafe { lc::BN_num_bits(self.get()) as usize }
    }

    pub fn is_zero(&self) -> bool {
        self.bits() == 0
    }

    /// The rest after division by a word that is not zero.
    pub fn rest_by_word(&self, word: u64) -> u64 {
        assert_ne!(word, 0, "nothing is divided by zero");
        // SAFETY: it reads a number that lives, and the word is not zero.
        unsafe { lc::BN_mod_word(self.get(), word) }
    }

    pub fn add_word(&mut self, word: u64) {
        // SAFETY: the number is this one's own.
        done(unsafe { lc::BN_add_word(self.raw(), word) });
    }

    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = Self::new();
        // SAFETY: it reads two numbers that live and writes to a third.
        done(unsafe { lc::BN_add(sum.raw(), self.get(), other.get()) });
        sum
    }

    /// # Panics
    /// The other is larger: there are no negative numbers.
    pub fn minus(&self, other: &Self) -> Self {
        assert!(self >= other, "the difference is not negative");
        let mut difference = Self::new();
        // SAFETY: it reads two numbers that live and writes to a third.
        done(unsafe { lc::BN_sub(difference.raw(), self.get(), other.get()) });
        difference
    }

    pub fn times(&self, other: &Self, scratch: &Scratch) -> Self {
        let mut product = Self::new();
        // SAFETY: it reads two numbers that live and writes to a third; nobody else uses the scratch meanwhile.
        done(unsafe { lc::BN_mul(product.raw(), self.get(), other.get(), scratch.raw()) });
        product
    }

    /// Quotient and rest.
    pub fn divided(&self, by: &Self, scratch: &Scratch) -> (Self, Self) {
        assert!(!by.is_zero(), "nothing is divided by zero");
        let (mut quotient, mut rest) = (Self::new(), Self::new());
        let (q, r) = (quotient.raw(), rest.raw());
        // SAFETY: it reads two numbers that live and writes to two others; nobody else uses the scratch meanwhile.
        done(unsafe { lc::BN_div(q, r, self.get(), by.get(), scratch.raw()) });
        (quotient, rest)
    }

    /// By as many rounds of Miller and Rabin as the library takes for primes that it makes itself.
    pub fn is_prime(&self, scratch: &Scratch) -> bool {
        // SAFETY: it reads a number that lives, and there is no callback; nobody else uses the scratch meanwhile.
        let verdict = unsafe {
            lc::BN_is_prime_fasttest_ex(self.get(), 0, scratch.raw(), 1, ptr::null_mut())
        };
        verdict == 1
    }

    fn get(&self) -> *const lc::BIGNUM {
        self.0.as_ptr()
    }

    fn raw(&mut self) -> *mut lc::BIGNUM {
        self.0.as_ptr()
    }
}

impl Drop for Num {
    fn drop(&mut self) {
        // SAFETY: the number is this one's own, and used no more.
        unsafe { lc::BN_free(self.0.as_ptr()) }
    }
}

impl Clone for Num {
    fn clone(&self) -> Self {
        // SAFETY: it reads a number that lives, and what it gives belongs to the caller.
        Self(made(unsafe { lc::BN_dup(self.get()) }))
    }
}

impl PartialOrd for Num {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Num {
    fn cmp(&self, other: &Self) -> Ordering {
        // SAFETY: it reads two numbers that live.
        unsafe { lc::BN_cmp(self.get(), other.get()) }.cmp(&0)
    }
}

impl PartialEq for Num {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Num {}

/// Numbers that the library uses while it computes. Not for several threads: a pointer makes it no `Sync`.
pub struct Scratch(NonNull<lc::BN_CTX>);

impl Scratch {
    pub fn new() -> Self {
        // SAFETY: it takes nothing, and what it gives belongs to the caller.
        Self(made(unsafe { lc::BN_CTX_new() }))
    }

    fn raw(&self) -> *mut lc::BN_CTX {
        self.0.as_ptr()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the scratch is this one's own, and used no more.
        unsafe { lc::BN_CTX_free(self.raw()) }
    }
}

/// Arithmetic modulo an odd number n. With R = 2^(64 words) a product is a b / R.
pub struct Modulus {
    n: Num,
    context: NonNull<lc::BN_MONT_CTX>,
    scratch: Scratch,
    square: Num,
}

impl Modulus {
    /// # Panics
    /// The number is even.
    pub fn new(n: &Num) -> Self {
        assert_eq!(n.rest_by_word(2), 1, "a modulus is odd");
        let scratch = Scratch::new();
        // SAFETY: it reads a number that lives, is odd and positive; what it gives belongs to the caller.
        let context = unsafe { lc::BN_MONT_CTX_new_for_modulus(n.get(), scratch.raw()) };
        let mut own = Self {
            n: n.clone(),
            context: made(context),
            scratch,
            square: Num::new(),
        };
        own.square = own.entered(&own.entered(&Num::from_word(1)));
        own
    }

    pub fn n(&self) -> &Num {
        &self.n
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Bytes of a residue.
    pub fn bytes(&self) -> usize {
        self.n.bits().div_ceil(8)
    }

    /// Words of a residue.
    pub fn words(&self) -> usize {
        self.n.bits().div_ceil(WORD)
    }

    /// R^2 mod n: multiplying by it multiplies by R.
    pub fn square_of_r(&self) -> &Num {
        &self.square
    }

    /// a R mod n.
    pub fn entered(&self, a: &Num) -> Num {
        let mut out = Num::new();
        let (context, scratch) = (self.context.as_ptr(), self.scratch.raw());
        // SAFETY: all live and nobody else uses the scratch meanwhile; a is not negative.
        done(unsafe { lc::BN_to_montgomery(out.raw(), a.get(), context, scratch) });
        out
    }

    /// a becomes a b / R mod n. One of them may be any number below R, the other is below n.
    pub fn multiply(&self, a: &mut Num, b: &Num) {
        let (own, context) = (a.raw(), self.context.as_ptr());
        // SAFETY: all live and nobody else uses the scratch meanwhile; the result may be written over a factor.
        done(unsafe { lc::BN_mod_mul_montgomery(own, own, b.get(), context, self.scratch.raw()) });
    }

    /// a becomes a^2 / R mod n.
    pub fn square(&self, a: &mut Num) {
        let (own, context) = (a.raw(), self.context.as_ptr());
        // SAFETY: all live and nobody else uses the scratch meanwhile; the result may be written over a factor.
        done(unsafe { lc::BN_mod_mul_montgomery(own, own, own, context, self.scratch.raw()) });
    }

    /// a - b mod n, of residues.
    pub fn difference(&self, a: &Num, b: &Num) -> Num {
        let mut out = Num::new();
        // SAFETY: it reads numbers that live and writes to another.
        done(unsafe { lc::BN_mod_sub_quick(out.raw(), a.get(), b.get(), self.n.get()) });
        out
    }

    /// The residue of any number, by division.
    pub fn rest(&self, a: &Num) -> Num {
        a.divided(&self.n, &self.scratch).1
    }

    /// base^exponent mod n by sliding windows, in variable time as CryptoLib did it: for the short exponents of DSA
    /// that is faster than the library's way in constant time, and no slower for others.
    pub fn power(&self, base: &Num, exponent: &Num) -> Num {
        assert!(base < &self.n, "the base is a residue");
        let (mut out, scratch) = (Num::new(), self.scratch.raw());
        let (base, exponent, n) = (base.get(), exponent.get(), self.n.get());
        let context = self.context.as_ptr();
        // SAFETY: all live and nobody else uses the scratch meanwhile; the base is below the modulus, which is odd.
        done(unsafe { lc::BN_mod_exp_mont(out.raw(), base, exponent, n, scratch, context) });
        out
    }

    /// 1/a mod n, if there is one.
    pub fn inverse(&self, a: &Num) -> Option<Num> {
        let (mut out, mut none) = (Num::new(), 0);
        let (n, scratch) = (self.n.get(), self.scratch.raw());
        assert!(a < &self.n, "a residue");
        // SAFETY: all live and nobody else uses the scratch meanwhile; n is odd and a below it.
        let code = unsafe { lc::BN_mod_inverse_odd(out.raw(), &mut none, a.get(), n, scratch) };
        (code == 1).then_some(out)
    }

    /// The residue that these bytes are.
    pub fn decode(&self, bytes: &[u8]) -> Option<Num> {
        let number = Num::from_bytes(bytes);
        (bytes.len() == self.bytes() && number < self.n).then_some(number)
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: the context is this one's own, and used no more.
        unsafe { lc::BN_MONT_CTX_free(self.context.as_ptr()) }
    }
}

/// RSA as the library does it: blinded, and each signature verified before it is given away.
pub struct LibraryRsa {
    key: NonNull<lc::RSA>,
    bytes: usize,
}

impl LibraryRsa {
    /// From n, e, d, p, q, d mod p - 1, d mod q - 1 and 1/q mod p; `None` if the library refuses them.
    pub fn new([n, e, d, p, q, dp, dq, inverse]: [&Num; 8]) -> Option<Self> {
        let [n, e, d, p] = [n, e, d, p].map(Num::get);
        let [q, dp, dq, inverse] = [q, dp, dq, inverse].map(Num::get);
        // SAFETY: it copies numbers that live; what it gives belongs to the caller.
        let key = unsafe { lc::RSA_new_private_key(n, e, d, p, q, dp, dq, inverse) };
        let key = NonNull::new(key)?;
        // SAFETY: the key lives.
        let bytes = unsafe { lc::RSA_size(key.as_ptr()) as usize };
        Some(Self { key, bytes })
    }

    /// The signature of a padded message as long as the modulus.
    pub fn sign(&self, padded: &[u8]) -> Vec<u8> {
        let (mut out, mut length) = (vec![0; self.bytes], 0);
        let (key, to, from) = (self.key.as_ptr(), out.as_mut_ptr(), padded.as_ptr());
        let room = self.bytes;
        // SAFETY: it reads so many bytes and writes no more than there is room for; the key lives.
        done(unsafe {
            lc::RSA_sign_raw(key, &mut length, to, room, from, padded.len(), NO_PADDING)
        });
        out
    }

    /// The padded message that a signature is of.
    pub fn open(&self, signature: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut length) = (vec![0; self.bytes], 0);
        let (key, to, from) = (self.key.as_ptr(), out.as_mut_ptr(), signature.as_ptr());
        let room = self.bytes;
        // SAFETY: it reads so many bytes and writes no more than there is room for; the key lives.
        let code = unsafe {
            lc::RSA_verify_raw(
                key,
                &mut length,
                to,
                room,
                from,
                signature.len(),
                NO_PADDING,
            )
        };
        (code == 1).then_some(out)
    }
}

impl Drop for LibraryRsa {
    fn drop(&mut self) {
        // SAFETY: the key is this one's own, and used no more.
        unsafe { lc::RSA_free(self.key.as_ptr()) }
    }
}
