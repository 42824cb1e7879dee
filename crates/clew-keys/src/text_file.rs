//! Files of one line of base64 under a label: keys, and what travels in a join or a DKG.

use clew_evidence::TextError;
use clew_evidence::armor::{self, MAX_TEXT_BYTES};
use clew_evidence::wire::Reader;
use zeroize::Zeroizing;

/// A file in clew's text form (`spec/key-file.md` section 1). It may be secret.
pub trait TextFile: Sized {
    /// Its label.
    const LABEL: &'static str;

    /// What its first line says to people.
    fn comment(&self) -> String;

    /// Appends the payload.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads the payload. Returns `None` if a field does not decode.
    fn read(fields: &mut Reader<'_>) -> Option<Self>;

    /// The payload alone.
    fn payload(&self) -> Zeroizing<Vec<u8>> {
        // Reserved at once, so that no copy of a secret is left behind by growing.
        let mut out = Zeroizing::new(Vec::with_capacity(MAX_TEXT_BYTES));
        self.write(&mut out);
        out
    }

    /// Decodes a payload. Returns `None` if a field or the length is wrong.
    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Reader(payload);
        let read = Self::read(&mut fields)?;
        fields.0.is_empty().then_some(read)
    }

    /// The text of the file.
    fn encode(&self) -> Zeroizing<String> {
        armor::encode(&self.comment(), Self::LABEL, &self.payload())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The rules of `spec/key-file.md` section 7.
    fn decode(text: &str) -> Result<Self, TextError> {
        let payload = armor::decode(text, Self::LABEL)?;
        Self::from_payload(&payload).ok_or(TextError::Damaged)
    }
}
