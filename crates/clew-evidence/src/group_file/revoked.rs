//! Who is revoked, and the rules about revoking: `revoked-twice` and `steps`.

use super::rule::at;
use super::{GroupFileError, Rule};
use crate::parts::{Change, EpochRecord};
use clew_group::STEP_BYTES;

/// Most steps since epoch 0 or the last rebase: 2^16 cost 8 of the group's 128 bits (Cheon).
pub const MAX_STEPS: usize = 1 << 16;

/// Everything that the records revoke, sorted, with the epoch of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Revoked {
    by_x: Vec<([u8; 32], u32)>,
    by_row: Vec<(u32, u32)>,
}

impl Revoked {
    /// Collects, with rule `revoked-twice`.
    pub(super) fn of(epochs: &[EpochRecord]) -> Result<Self, GroupFileError> {
        let mut all = Self::default();
        for EpochRecord { epoch, change, .. } in epochs {
            match change {
                Change::Steps(steps) => all.by_x.extend(steps.iter().map(|s| (x_of(s), *epoch))),
                Change::Rebase { revoked } => {
                    all.by_row.extend(revoked.iter().map(|row| (*row, *epoch)));
                }
                Change::Sharing(_) => {}
            }
        }
        all.by_x.sort_unstable();
        all.by_row.sort_unstable();
        let twice = repeated(&all.by_x).into_iter().chain(repeated(&all.by_row));
        match twice.min() {
            Some(epoch) => Err(at(epoch as usize, Rule::RevokedTwice)),
            None => Ok(all),
        }
    }

    /// The epoch of the step that revokes this encoded x.
    pub(super) fn x(&self, x: &[u8; 32]) -> Option<u32> {
        find(&self.by_x, x)
    }

    /// The epoch of the rebase that revokes this row.
    pub(super) fn row(&self, row: u32) -> Option<u32> {
        find(&self.by_row, &row)
    }
}

/// x* of an encoded step.
fn x_of(step: &[u8; STEP_BYTES]) -> [u8; 32] {
    let mut x = [0; 32];
    x.copy_from_slice(&step[..32]);
    x
}

/// The first epoch that repeats what another has.
fn repeated<T: PartialEq>(sorted: &[(T, u32)]) -> Option<u32> {
    let pairs = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.map(|pair| pair[1].1).min()
}

fn find<T: Ord>(sorted: &[(T, u32)], wanted: &T) -> Option<u32> {
    let place = sorted
        .binary_search_by(|(value, _)| value.cmp(wanted))
        .ok()?;
    Some(sorted[place].1)
}

/// Rule `steps`.
pub(super) fn check_steps_per_segment(epochs: &[EpochRecord]) -> Result<(), GroupFileError> {
    let mut since_rebase = 0;
    for EpochRecord { epoch, change, .. } in epochs {
        match change {
            Change::Steps(steps) => since_rebase += steps.len(),
            Change::Rebase { .. } => since_rebase = 0,
            Change::Sharing(_) => {}
        }
        if since_rebase > MAX_STEPS {
            return Err(at(*epoch as usize, Rule::Steps));
        }
    }
    Ok(())
}
