//! What a requester shows its trustees (`spec/request.md` section 2).

use clew_evidence::wire::Reader;
use clew_evidence::{FoundRow, MAX_ROW_BYTES, Row};
use clew_group::Scheme;
use clew_group::curve::{G1, Scalar};
use std::num::NonZeroU64;

/// Most bytes of a case file: as many as one post has.
pub const CASE_BYTES_MAX: usize = 512 << 10;

const DOMAIN: &[u8; 16] = b"clew-case-1\0\0\0\0\0";

/// Everything that a trustee needs to check a request. It claims nothing: the trustee makes the request
/// itself, of the warrant and of the packet in the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFile {
    /// Place of the request's entry in the group's log.
    pub place: NonZeroU64,
    /// Frame number, in the capture, of the packet that is asked about. From 1.
    pub frame: u32,
    /// The packet's frame number in the capture from which the requester copied it; 0 if it does not say.
    pub original: u32,
    /// Salt of the warrant's hash in the log.
    pub salt: [u8; 32],
    /// Text of the warrant, at most 65,535 bytes.
    pub warrant: String,
    /// In a match: the machine.
    pub machine: Option<CaseMachine>,
    /// A capture that has all packets of the signature.
    pub capture: Vec<u8>,
}

/// The machine of a match, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseMachine {
    /// Its x.
    pub x: [u8; 32],
    /// B_X, the base that it signs with in the packet's epoch.
    pub base: [u8; 48],
    /// Its row, at most [`MAX_ROW_BYTES`].
    pub row: Vec<u8>,
}

impl CaseMachine {
    /// Encodes the machine of a match. Returns `None` if its x is unknown.
    pub fn new(found: &FoundRow, base: &G1) -> Option<Self> {
        Some(Self {
            x: found.x.as_ref()?.to_bytes(),
            base: base.to_bytes(),
            row: found.row.encode(),
        })
    }

    /// Decodes the row, x and B_X. Returns `None` if one of them is not well-formed.
    pub fn found(&self) -> Option<(FoundRow, G1)> {
        let found = FoundRow {
            row: Row::decode(Scheme::Xr, &self.row)?,
            x: Some(Scalar::from_bytes(&self.x).ok()?),
        };
        Some((found, G1::from_bytes(&self.base).ok()?))
    }

    /// Returns the bytes: x, B_X, the row.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.x[..], &self.base, &self.row].concat()
    }

    /// Reads such bytes. Returns `None` if they are too short or too long.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        let (x, base) = (fields.array()?, fields.array()?);
        let row = fields.take(fields.0.len())?.to_vec();
        (!row.is_empty() && row.len() <= MAX_ROW_BYTES).then_some(Self { x, base, row })
    }
}

impl CaseFile {
    /// Encodes the file. Returns `None` if it would be longer than [`CASE_BYTES_MAX`].
    pub fn encode(&self) -> Option<Vec<u8>> {
        let machine = self.machine.as_ref().map(CaseMachine::to_bytes);
        let machine = machine.unwrap_or_default();
        let mut out = DOMAIN.to_vec();
        out.extend(self.place.get().to_be_bytes());
        out.extend(self.frame.to_be_bytes());
        out.extend(self.original.to_be_bytes());
        out.extend(self.salt);
        out.extend(u16::try_from(self.warrant.len()).ok()?.to_be_bytes());
        out.extend(self.warrant.as_bytes());
        out.extend(u16::try_from(machine.len()).ok()?.to_be_bytes());
        out.extend(machine);
        out.extend(&self.capture);
        (out.len() <= CASE_BYTES_MAX).then_some(out)
    }

    /// Decodes a file. Returns `None` if it has another form. What it has is not checked.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > CASE_BYTES_MAX {
            return None;
        }
        let mut fields = Reader(bytes);
        let is_case = fields.take(DOMAIN.len())? == DOMAIN;
        let place = NonZeroU64::new(fields.u64()?)?;
        let frame = fields.u32().filter(|frame| is_case && *frame > 0)?;
        let (original, salt) = (fields.u32()?, fields.array()?);
        let length = usize::from(fields.u16()?);
        let warrant = std::str::from_utf8(fields.take(length)?).ok()?.to_owned();
        let length = usize::from(fields.u16()?);
        let machine = fields.take(length)?;
        let machine = match machine.is_empty() {
            true => None,
            false => Some(CaseMachine::from_bytes(machine)?),
        };
        let capture = fields.take(fields.0.len())?.to_vec();
        (!capture.is_empty()).then_some(Self {
            place,
            frame,
            original,
            salt,
            warrant,
            machine,
            capture,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn case() -> CaseFile {
        CaseFile {
            place: NonZeroU64::new(7).unwrap(),
            frame: 3,
            original: 9,
            salt: [9; 32],
            warrant: "warrant".to_owned(),
            machine: Some(CaseMachine {
                x: [1; 32],
                base: [2; 48],
                row: vec![3; 20],
            }),
            capture: vec![4; 100],
        }
    }

    #[test]
    fn a_case_is_read_as_it_was_written() {
        let opening = CaseFile {
            machine: None,
            ..case()
        };
        for case in [case(), opening] {
            assert_eq!(CaseFile::decode(&case.encode().unwrap()), Some(case));
        }
    }

    #[test]
    fn a_case_that_lacks_something_is_none() {
        let good = case().encode().unwrap();
        let until = good.len() - case().capture.len();
        for length in 0..=until {
            assert_eq!(CaseFile::decode(&good[..length]), None, "{length}");
        }
        // Domain, place, frame; then a machine that is too short for a row.
        for at in [0, 23, 27] {
            let mut bad = good.clone();
            bad[at] = 0;
            assert_eq!(CaseFile::decode(&bad), None, "{at}");
        }
        let long = CaseFile {
            capture: vec![0; CASE_BYTES_MAX],
            ..case()
        };
        assert_eq!(long.encode(), None);
        assert_eq!(
            CaseFile::decode(&[&good[..], &[0; CASE_BYTES_MAX]].concat()),
            None
        );
    }

    #[test]
    fn a_machine_has_points_and_a_row() {
        assert!(case().machine.unwrap().found().is_none());
    }
}
