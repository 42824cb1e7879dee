//! Who is revoked, and the rules about revoking: `revoked-twice` and `steps`.

use super::Rule;
use crate::parts::{Change, EpochRecord};
use alloc::collections::BTreeMap;
use clew_group::STEP_BYTES;

/// Most steps since epoch 0 or the last rebase: 2^16 cost 8 of the group's 128 bits (Cheon).
pub const MAX_STEPS: usize = 1 << 16;

/// Everything that the records revoke, with the epoch of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Revoked {
    by_x: BTreeMap<[u8; 32], u32>,
    by_row: BTreeMap<u32, u32>,
    /// Steps since epoch 0 or the last rebase.
    steps: usize,
}

impl Revoked {
    /// Adds what the next record revokes.
    pub(super) fn add(&mut self, record: &EpochRecord) -> Result<(), Rule> {
        let epoch = record.epoch;
        match &record.change {
            Change::Steps(steps) => {
                for step in steps {
                    once(self.by_x.insert(x_of(step), epoch))?;
                }
                self.steps += steps.len();
            }
            Change::Rebase { revoked } => {
                for row in revoked {
                    once(self.by_row.insert(*row, epoch))?;
                }
                self.steps = 0;
            }
            Change::Sharing(_) | Change::Log(_) | Change::End(_) => {}
        }
        match self.steps > MAX_STEPS {
            true => Err(Rule::Steps),
            false => Ok(()),
        }
    }

    /// The epoch of the step that revokes this encoded x.
    pub(super) fn x(&self, x: &[u8; 32]) -> Option<u32> {
        self.by_x.get(x).copied()
    }

    /// The epoch of the rebase that revokes this row.
    pub(super) fn row(&self, row: u32) -> Option<u32> {
        self.by_row.get(&row).copied()
    }
}

fn once(before: Option<u32>) -> Result<(), Rule> {
    match before {
        None => Ok(()),
        Some(_) => Err(Rule::RevokedTwice),
    }
}

/// x* of an encoded step.
fn x_of(step: &[u8; STEP_BYTES]) -> [u8; 32] {
    let mut x = [0; 32];
    x.copy_from_slice(&step[..32]);
    x
}
