//! Signed notes: a text with signatures below it (`c2sp.org/signed-note`).

use crate::signed;
use crate::text::{from_base64, line, to_base64};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

/// Most signatures of a note. The format wants 16 at least.
pub const SIGNATURES_MAX: usize = 64;
/// Most bytes of a note.
pub(crate) const NOTE_BYTES_MAX: usize = 1 << 17;
/// What a signature line begins with: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// A text and the signatures below it, none of them checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// One signature line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The key's name.
    pub name: String,
    /// The key's id: with the name it says which key made the signature.
    pub id: [u8; 4],
    /// The signature, in the form of the key's kind.
    pub bytes: Vec<u8>,
}

/// Why a note is not one, or is not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteError {
    /// The text has another form.
    Layout,
    /// A signature of a known key does not hold.
    Signature,
    /// No known key signed it.
    Unsigned,
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layout => "not a signed note",
            Self::Signature => "the signature of a known key does not hold",
            Self::Unsigned => "no known key signed it",
        })
    }
}

impl core::error::Error for NoteError {}

impl Note {
    /// Makes a note of a text, which ends with a newline, without signatures.
    ///
    /// # Errors
    /// [`NoteError::Layout`] if the text cannot be one of a note.
    pub fn new(text: String) -> Result<Self, NoteError> {
        let is_text = text.ends_with('\n') && !text.chars().any(|c| c < ' ' && c != '\n');
        if !is_text || text.len() > NOTE_BYTES_MAX {
            return Err(NoteError::Layout);
        }
        Ok(Self {
            text,
            signatures: Vec::new(),
        })
    }

    /// Reads a note: text, empty line, signature lines.
    ///
    /// # Errors
    /// [`NoteError::Layout`].
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        let parts = || {
            let short = Some(note).filter(|note| note.len() <= NOTE_BYTES_MAX)?;
            let (before, after) = short.rsplit_once("\n\n")?;
            let end = before.len() + 1;
            Some((&short[..end], after))
        };
        let (text, lines) = parts().ok_or(NoteError::Layout)?;
        let mut read = Self::new(text.to_owned())?;
        read.add_lines(lines)?;
        if read.signatures.is_empty() {
            return Err(NoteError::Layout);
        }
        Ok(read)
    }

    /// Adds signature lines, each with its newline, as a witness answers with them.
    ///
    /// # Errors
    /// [`NoteError::Layout`] if one is not a signature line, or they become too many.
    pub fn add_lines(&mut self, mut lines: &str) -> Result<(), NoteError> {
        while !lines.is_empty() {
            let (first, rest) = line(lines).ok_or(NoteError::Layout)?;
            let signature = NoteSignature::parse(first).ok_or(NoteError::Layout)?;
            self.add(signature)?;
            lines = rest;
        }
        Ok(())
    }

    /// Adds a signature, unless it is there.
    ///
    /// # Errors
    /// [`NoteError::Layout`] if there are [`SIGNATURES_MAX`].
    pub fn add(&mut self, signature: NoteSignature) -> Result<(), NoteError> {
        if self.signatures.contains(&signature) {
            return Ok(());
        }
        if self.signatures.len() >= SIGNATURES_MAX {
            return Err(NoteError::Layout);
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// Returns the text, with the newline at its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the signatures, none of them checked.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Returns the signature of a key, if the note has one and it holds.
    ///
    /// # Errors
    /// [`NoteError::Signature`] if a signature with the key's name and id does not hold;
    /// [`NoteError::Unsigned`] if there is none.
    pub fn signature(&self, key: &VerifierKey) -> Result<&NoteSignature, NoteError> {
        let mut own = self.signatures.iter().filter(|line| line.is_of(key));
        let first = own.clone().next().ok_or(NoteError::Unsigned)?;
        match own.all(|line| key.holds(&self.text, &line.bytes)) {
            true => Ok(first),
            false => Err(NoteError::Signature),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl NoteSignature {
    /// Reads a signature line, without its newline.
    fn parse(line: &str) -> Option<Self> {
        let (name, bytes) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = from_base64(bytes)?;
        let (id, signature) = bytes.split_first_chunk()?;
        (is_name(name) && !signature.is_empty()).then(|| Self {
            name: name.to_owned(),
            id: *id,
            bytes: signature.to_vec(),
        })
    }

    /// Returns whether the line names that key.
    pub fn is_of(&self, key: &VerifierKey) -> bool {
        (&*self.name, self.id) == (&*key.name, key.id)
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.id[..], &self.bytes].concat();
        write!(f, "{DASH}{} {}", self.name, to_base64(&bytes))
    }
}

/// What a key signs. Its number is the signature type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum KeyKind {
    /// A log's key: Ed25519 over the text.
    Log = 1,
    /// A witness's key: Ed25519 with a time (`c2sp.org/tlog-cosignature`).
    Witness = 4,
}

/// A public key with its name, in text `NAME+ID+KEY` (a *vkey*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    kind: KeyKind,
    key: VerifyingKey,
}

/// The text is not a verifier key of a log or a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadKey;

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a verifier key (NAME+ID+KEY) of a log or a witness")
    }
}

impl core::error::Error for BadKey {}

impl VerifierKey {
    /// Gives a key its name.
    ///
    /// # Errors
    /// [`BadKey`] if the name is empty or has spaces or `+`.
    pub fn new(name: &str, kind: KeyKind, key: VerifyingKey) -> Result<Self, BadKey> {
        if !is_name(name) {
            return Err(BadKey);
        }
        let digest = Sha256::new()
            .chain_update(name)
            .chain_update([b'\n', kind as u8])
            .chain_update(key.as_bytes());
        let digest: [u8; 32] = digest.finalize().into();
        let [a, b, c, d, ..] = digest;
        Ok(Self {
            name: name.to_owned(),
            id: [a, b, c, d],
            kind,
            key,
        })
    }

    /// Returns the key's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the key signs.
    pub const fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the Ed25519 key.
    pub const fn key(&self) -> &VerifyingKey {
        &self.key
    }

    /// Returns the key's signature line around a signature.
    pub(crate) fn line(&self, bytes: Vec<u8>) -> NoteSignature {
        NoteSignature {
            name: self.name.clone(),
            id: self.id,
            bytes,
        }
    }

    fn holds(&self, text: &str, signature: &[u8]) -> bool {
        match self.kind {
            KeyKind::Log => signature
                .try_into()
                .is_ok_and(|signature| signed::holds(&self.key, text.as_bytes(), signature)),
            KeyKind::Witness => crate::Cosignature::decode(signature)
                .is_some_and(|cosignature| cosignature.holds(&self.key, text)),
        }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[self.kind as u8], &self.key.as_bytes()[..]].concat();
        let id = u32::from_be_bytes(self.id);
        write!(f, "{}+{id:08x}+{}", self.name, to_base64(&key))
    }
}

impl FromStr for VerifierKey {
    type Err = BadKey;

    /// Reads a vkey whose id fits its key.
    fn from_str(text: &str) -> Result<Self, BadKey> {
        let read = || {
            let (name, rest) = text.split_once('+')?;
            let (_, key) = rest.split_once('+')?;
            let bytes = from_base64(key)?;
            let (kind, key) = bytes.split_first()?;
            let kind = match kind {
                1 => KeyKind::Log,
                4 => KeyKind::Witness,
                _ => return None,
            };
            let key = signed::strict_key(key.try_into().ok()?)?;
            Self::new(name, kind, key).ok()
        };
        let key = read().ok_or(BadKey)?;
        match key.to_string() == text {
            true => Ok(key),
            false => Err(BadKey),
        }
    }
}

/// Signs a note as a log does.
///
/// # Errors
/// [`BadKey`] if `name` cannot be a key's.
pub fn sign(text: &str, name: &str, key: &SigningKey) -> Result<NoteSignature, BadKey> {
    let public = VerifierKey::new(name, KeyKind::Log, key.verifying_key())?;
    Ok(public.line(key.sign(text.as_bytes()).to_bytes().to_vec()))
}

/// Returns whether a key can have that name.
fn is_name(name: &str) -> bool {
    let is_bad = |c: char| c == '+' || c.is_whitespace() || c.is_control();
    !name.is_empty() && name.len() <= 256 && !name.contains(is_bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `c2sp.org/signed-note`.
    const KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    const NOTE: &str = "This is an example message.\n\n\
        \u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";

    fn key() -> VerifierKey {
        KEY.parse().unwrap()
    }

    #[test]
    fn the_published_example_holds() {
        let note = Note::parse(NOTE).unwrap();
        assert_eq!(note.text(), "This is an example message.\n");
        assert!(note.signature(&key()).is_ok());
        assert_eq!(note.to_string(), NOTE);
        assert_eq!(key().to_string(), KEY);
    }

    #[test]
    fn another_text_or_signature_does_not_hold() {
        let other = NOTE.replace("example message", "examples message");
        let other = Note::parse(&other).unwrap();
        assert_eq!(other.signature(&key()), Err(NoteError::Signature));
        // One good signature of a key does not cover a bad one of the same key.
        let both = format!("{NOTE}\u{2014} example.com/foo Uw2QOgAA\n");
        let both = Note::parse(&both).unwrap();
        assert_eq!(both.signature(&key()), Err(NoteError::Signature));
        let unknown = NOTE.replace("example.com/foo", "example.com/bar");
        let unknown = Note::parse(&unknown).unwrap();
        assert_eq!(unknown.signature(&key()), Err(NoteError::Unsigned));
    }

    #[test]
    fn unknown_signatures_are_passed_over() {
        let more = format!("{NOTE}\u{2014} somebody AAAAAAE=\n");
        assert!(Note::parse(&more).unwrap().signature(&key()).is_ok());
    }

    #[test]
    fn other_texts_are_not_notes() {
        let many = NOTE.to_owned() + &"\u{2014} a AAAAAAE=\n".repeat(2);
        assert_eq!(
            Note::parse(&many).unwrap().signatures().len(),
            2,
            "the same line is one"
        );
        let bad = [
            String::new(),
            "text\n".to_owned(),
            "text\n\n".to_owned(),
            NOTE.trim_end().to_owned(),
            NOTE.replace('\u{2014}', "-"),
            NOTE.replace("This", "\tThis"),
            NOTE.replace("=\n", "\n"),
            NOTE.replace("example.com/foo ", "example.com/f+o "),
            NOTE.replace("\n\n", "\n"),
            format!("{NOTE}\n"),
            "a\n\n\u{2014} n AAAAAA==\n".to_owned(),
            (0..=SIGNATURES_MAX).fold("a\n\n".to_owned(), |note, n| {
                note + &format!("\u{2014} n{n} AAAAAAE=\n")
            }),
            format!("{}\n{NOTE}", "a".repeat(NOTE_BYTES_MAX)),
        ];
        for bad in bad {
            assert_eq!(Note::parse(&bad), Err(NoteError::Layout), "{bad:.200}");
        }
    }

    #[test]
    fn keys_have_one_form() {
        let bad = [
            "",
            "example.com/foo",
            &KEY.replace("530d903a", "530d903b"),
            &KEY.replace("530d903a", "530D903A"),
            &KEY.replace("foo+", "fo o+"),
            &KEY.replace("+Ae", "+Be"),
            &format!("{KEY} "),
        ];
        for bad in bad {
            assert_eq!(bad.parse::<VerifierKey>(), Err(BadKey), "{bad}");
        }
    }

    #[test]
    fn what_a_log_signs_is_read_again() {
        let secret = SigningKey::from_bytes(&[5; 32]);
        let key = VerifierKey::new("log", KeyKind::Log, secret.verifying_key()).unwrap();
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        let mut note = Note::new("text\nwith\n\nlines\n".to_owned()).unwrap();
        note.add(sign(note.text(), "log", &secret).unwrap())
            .unwrap();
        let read = Note::parse(&note.to_string()).unwrap();
        assert_eq!(read, note);
        assert!(read.signature(&key).is_ok());
    }
}
