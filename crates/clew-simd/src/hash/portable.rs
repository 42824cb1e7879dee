//! One input after the other, by the crates that know the processor best for that.

use sha2::{Digest as _, Sha256};

use super::{Digest, Input};

pub fn blake3_keyed(key: &[u8; 32], inputs: &[Input<'_>], out: &mut [Digest]) {
    for (input, digest) in inputs.iter().zip(out) {
        let mut hash = blake3::Hasher::new_keyed(key);
        for part in input.parts() {
            hash.update(part);
        }
        *digest = hash.finalize().into();
    }
}

pub fn blake3_blocks(key: &[u8; 32], blocks: &[[u8; 64]], len: usize, out: &mut [Digest]) {
    for (block, digest) in blocks.iter().zip(out) {
        *digest = blake3::keyed_hash(key, &block[..len]).into();
    }
}

pub fn sha256(inputs: &[Input<'_>], out: &mut [Digest]) {
    for (input, digest) in inputs.iter().zip(out) {
        *digest = sha256_of(input);
    }
}

pub fn sha256_of(input: &Input<'_>) -> Digest {
    let mut hash = Sha256::new();
    input.parts().iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}
