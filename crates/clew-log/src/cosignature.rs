//! A witness's word that a checkpoint is consistent with all earlier ones
//! (`c2sp.org/tlog-cosignature`, with Ed25519).

use crate::note::{BadKey, KeyKind, NoteSignature, VerifierKey};
use crate::signed;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

/// A time and a signature over it and a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cosignature {
    /// When the witness cosigned, in seconds since 1970, by its clock.
    pub time: u64,
    signature: [u8; signed::SIGNATURE_BYTES],
}

impl Cosignature {
    /// Cosigns the text of a checkpoint, and returns the signature line. `time` is in seconds since 1970.
    ///
    /// Whoever calls this has checked that the checkpoint is consistent with all earlier ones.
    ///
    /// # Errors
    /// [`BadKey`] if `name` cannot be a key's.
    pub fn sign(
        text: &str,
        time: u64,
        name: &str,
        key: &SigningKey,
    ) -> Result<NoteSignature, BadKey> {
        let public = VerifierKey::new(name, KeyKind::Witness, key.verifying_key())?;
        let signature = key.sign(message(text, time).as_bytes()).to_bytes();
        Ok(public.line(Self { time, signature }.encode()))
    }

    /// Reads the bytes of a signature line: time (8), signature (64). Returns `None` if they are others.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, signature) = bytes.split_first_chunk()?;
        let time = u64::from_be_bytes(*time);
        let signature = signature.try_into().ok()?;
        (time <= i64::MAX.cast_unsigned()).then_some(Self { time, signature })
    }

    fn encode(&self) -> Vec<u8> {
        [&self.time.to_be_bytes()[..], &self.signature].concat()
    }

    pub(crate) fn holds(&self, key: &VerifyingKey, text: &str) -> bool {
        signed::holds(key, message(text, self.time).as_bytes(), &self.signature)
    }
}

fn message(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::{Note, NoteError};

    const TEXT: &str = "log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";

    #[test]
    fn a_cosignature_covers_text_and_time() {
        let secret = SigningKey::from_bytes(&[9; 32]);
        let key = VerifierKey::new("witness", KeyKind::Witness, secret.verifying_key()).unwrap();
        let line = Cosignature::sign(TEXT, 1_700_000_000, "witness", &secret).unwrap();
        let with = |text: &str, line: &NoteSignature| {
            let mut note = Note::new(text.into()).unwrap();
            note.add(line.clone()).unwrap();
            note.signature(&key)
                .map(|line| Cosignature::decode(&line.bytes).unwrap().time)
        };
        assert_eq!(with(TEXT, &line), Ok(1_700_000_000));
        assert_eq!(
            with(&TEXT.replace("\n0\n", "\n1\n"), &line),
            Err(NoteError::Signature)
        );
        let mut later = line.clone();
        later.bytes[7] ^= 1;
        assert_eq!(with(TEXT, &later), Err(NoteError::Signature));
        let mut far = line.clone();
        far.bytes[0] = 0x80;
        assert_eq!(with(TEXT, &far), Err(NoteError::Signature));
        // A log's key of the same name and bytes is another key.
        let log = VerifierKey::new("witness", KeyKind::Log, secret.verifying_key()).unwrap();
        let mut note = Note::new(TEXT.into()).unwrap();
        note.add(line).unwrap();
        assert_eq!(note.signature(&log), Err(NoteError::Unsigned));
    }

    #[test]
    fn other_lengths_are_refused() {
        assert_eq!(Cosignature::decode(&[0; 71]), None);
        assert_eq!(Cosignature::decode(&[0; 73]), None);
        assert!(Cosignature::decode(&[0; 72]).is_some());
    }
}
