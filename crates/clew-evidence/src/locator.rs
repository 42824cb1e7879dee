//! Q files: what lets an auditor without the issuer key find the row of one opened signature
//! (`spec/opening.md` section 4.2).

use crate::armor::{self, TextError};
use crate::search::OpenedBase;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use clew_group::EpochId;
use clew_group::curve::G1;
use clew_packet::GroupId;
use clew_wire::Reader;

const LABEL: &str = "clew-locator-1";

/// Q = B^gamma for the base B of one opened signature (`xr`).
///
/// The manager makes it, only for an [`OpenedBase`]. With Q a row is compared without a pairing ([`crate::Search::with_q`], which checks Q).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locator {
    /// The group.
    pub group: GroupId,
    /// Epoch of the packet's signature.
    pub epoch: u32,
    /// The id of that epoch.
    pub epoch_id: EpochId,
    /// Id of the request that the opening answers.
    pub request: [u8; 32],
    /// B, encoded.
    pub base: [u8; 48],
    /// Q, encoded.
    pub q: [u8; 48],
}

impl Locator {
    /// Returns the locator of an opened base.
    pub fn new(opened: &OpenedBase, q: &G1) -> Self {
        Self::of(opened, q.to_bytes())
    }

    fn of(opened: &OpenedBase, q: [u8; 48]) -> Self {
        let request = opened.request();
        Self {
            group: request.group,
            epoch: request.epoch,
            epoch_id: request.epoch_id,
            request: request.id(),
            base: opened.point().to_bytes(),
            q,
        }
    }

    /// Returns whether it is of this base, opened for this request. Q is checked by
    /// [`crate::Search::with_q`].
    pub fn is_of(&self, opened: &OpenedBase) -> bool {
        *self == Self::of(opened, self.q)
    }

    /// Returns the text of the file: 180 bytes of payload.
    pub fn encode(&self) -> String {
        let payload = [
            &self.group.0[..],
            &self.epoch.to_be_bytes(),
            &self.epoch_id.0,
            &self.request,
            &self.base,
            &self.q,
        ]
        .concat();
        let (group, epoch) = (self.group, self.epoch);
        let comment = format!("clew locator (Q) of an opening, group {group}, epoch {epoch}.");
        armor::encode(&comment, LABEL, &payload).to_string()
    }

    /// Reads the text of a file. Its points are bytes still.
    ///
    /// # Errors
    /// [`TextError`] if it is another file, or damaged.
    pub fn decode(text: &str) -> Result<Self, TextError> {
        let payload = armor::decode(text, LABEL)?;
        Self::read(&payload).ok_or(TextError::Damaged)
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut fields = Reader(payload);
        let read = Self {
            group: GroupId(fields.array()?),
            epoch: fields.u32()?,
            epoch_id: EpochId(fields.array()?),
            request: fields.array()?,
            base: fields.array()?,
            q: fields.array()?,
        };
        fields.0.is_empty().then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locator() -> Locator {
        Locator {
            group: GroupId([1; 16]),
            epoch: 258,
            epoch_id: EpochId([2; 32]),
            request: [3; 32],
            base: [4; 48],
            q: [5; 48],
        }
    }

    #[test]
    fn locators_round_trip() {
        let text = locator().encode();
        assert_eq!(Locator::decode(&text), Ok(locator()));
        let payload = armor::decode(&text, LABEL).unwrap();
        let fields = [
            &[1; 16][..],
            &[0, 0, 1, 2],
            &[2; 32],
            &[3; 32],
            &[4; 48],
            &[5; 48],
        ];
        assert_eq!(*payload, fields.concat());
    }

    #[test]
    fn other_files_and_lengths_are_refused() {
        let payload = armor::decode(&locator().encode(), LABEL).unwrap();
        let longer = [&payload[..], &[0]].concat();
        for bytes in [&payload[1..], &longer] {
            let text = armor::encode("", LABEL, bytes);
            assert_eq!(Locator::decode(&text), Err(TextError::Damaged));
        }
        let other = armor::encode("", "clew-opening-1", &payload);
        assert!(matches!(
            Locator::decode(&other),
            Err(TextError::Label { .. })
        ));
    }
}
