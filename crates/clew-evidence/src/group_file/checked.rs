//! A group file whose whole chain of V is checked: what whoever opens, judges, matches, updates a
//! key or gives a share holds (`spec/group-file.md` 3).

use super::rule::at;
use super::{GroupFile, GroupFileError, Rule};
use crate::parts::{Change, EpochRecord};
use alloc::vec;
use alloc::vec::Vec;
use clew_group::curve::{G1, Scalar};
use clew_group::{Step, check_steps};
use core::ops::Deref;
use rand_core::CryptoRng;

/// A [`GroupFile`] in which every V descends from the hashed V of epoch 0 or of a rebase.
///
/// Made by [`GroupFile::check_epochs`] only, so that nobody judges on the manager's word for V:
///
/// ```compile_fail
/// # use clew_evidence::{Fault, GroupFile, Judgement, Opening, Packet};
/// # fn f(unchecked: &GroupFile, opening: &Opening, packet: &Packet<'_>) -> Result<Judgement, Fault> {
/// clew_evidence::judge_opening(unchecked, opening, packet) // expected &CheckedGroup
/// # }
/// ```
/// With the chain checked:
/// ```
/// # use clew_evidence::{CheckedGroup, Fault, Judgement, Opening, Packet};
/// # fn f(group: &CheckedGroup, opening: &Opening, packet: &Packet<'_>) -> Result<Judgement, Fault> {
/// clew_evidence::judge_opening(group, opening, packet)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CheckedGroup {
    group: GroupFile,
    /// The steps of all records, in order.
    steps: Vec<Step>,
    /// How many of them stand in epochs up to e, for each e.
    until: Vec<usize>,
}

/// The way of a witness from one epoch to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow<'a> {
    /// Follow these steps ([`clew_group::Witness::after`]).
    Steps(&'a [Step]),
    /// Go back over these steps ([`clew_group::Witness::before`]).
    Back(&'a [Step]),
    /// A rebase is in the way. Take the witness that the manager gives for `epoch`, then follow these
    /// steps.
    Rebase {
        /// The epoch whose witness is needed.
        epoch: u32,
        /// The steps after it.
        steps: &'a [Step],
    },
}

impl GroupFile {
    /// Checks all steps of the file: two pairings, and one multi-exponentiation with weights of 128
    /// bits from `rng`.
    ///
    /// `rng` must be unpredictable to the manager.
    ///
    /// # Errors
    /// Rule `public-key` with the first record that has a step that does not decode or does not lead
    /// from the V before, or whose g1 V is the identity.
    pub fn check_epochs(self, rng: &mut impl CryptoRng) -> Result<CheckedGroup, GroupFileError> {
        let (steps, until) = decode_steps(self.epochs())?;
        let checked = CheckedGroup {
            group: self,
            steps,
            until,
        };
        checked.check_identities()?;
        let newest = checked.newest_epoch();
        if checked.leads_until(newest, rng) {
            return Ok(checked);
        }
        // What leads up to some epoch leads up to all before it.
        let (mut good, mut bad) = (0, newest);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match checked.leads_until(middle, rng) {
                true => good = middle,
                false => bad = middle,
            }
        }
        Err(at(bad as usize, Rule::PublicKey))
    }
}

/// Every step, and how many of them there are up to each epoch.
fn decode_steps(epochs: &[EpochRecord]) -> Result<(Vec<Step>, Vec<usize>), GroupFileError> {
    let (mut steps, mut until) = (Vec::new(), vec![0]);
    for record in epochs {
        if let Change::Steps(encoded) = &record.change {
            for step in encoded {
                let step = Step::from_bytes(step);
                steps.push(step.map_err(|_| at(record.epoch as usize, Rule::PublicKey))?);
            }
        }
        until.push(steps.len());
    }
    Ok((steps, until))
}

impl CheckedGroup {
    /// Returns the group file that was checked.
    pub fn file(&self) -> &GroupFile {
        &self.group
    }

    /// Returns V of an epoch. Returns `None` if the file has no such epoch.
    pub fn v(&self, epoch: u32) -> Option<G1> {
        let until = *self.until.get(epoch as usize)?;
        let base = self.hashed_since(epoch);
        match self.steps[self.until[base as usize]..until].last() {
            Some(step) => Some(*step.v()),
            None => Some(self.group.hashed_v(base)),
        }
    }

    /// Returns the steps that a witness of epoch `from` follows to become one of epoch `to`.
    ///
    /// Returns `None` if the file lacks one of them. If a rebase is in the way back to the first
    /// epochs, the witness of epoch 0 is needed, which only the manager can give.
    pub fn path(&self, from: u32, to: u32) -> Option<Follow<'_>> {
        let (start, end) = (
            *self.until.get(from as usize)?,
            *self.until.get(to as usize)?,
        );
        let base = self.hashed_since(to);
        Some(if self.hashed_since(from) != base {
            let steps = &self.steps[self.until[base as usize]..end];
            Follow::Rebase { epoch: base, steps }
        } else if start <= end {
            Follow::Steps(&self.steps[start..end])
        } else {
            Follow::Back(&self.steps[end..start])
        })
    }

    /// Returns how many steps there are since epoch 0 or the last rebase, in the newest epoch: at
    /// most [`crate::MAX_STEPS`].
    pub fn steps_since_rebase(&self) -> usize {
        let base = self.hashed_since(self.newest_epoch());
        self.steps.len() - self.until[base as usize]
    }

    /// Returns every x* of a step up to and with `epoch`, oldest first.
    pub fn revoked_x(&self, epoch: u32) -> impl Iterator<Item = &Scalar> {
        let until = self.until.get(epoch as usize).or(self.until.last());
        let until = until.copied().unwrap_or(0);
        self.steps[..until].iter().map(Step::x)
    }

    /// Returns the index of every row that a rebase up to and with `epoch` revokes.
    pub fn revoked_rows(&self, epoch: u32) -> impl Iterator<Item = u32> {
        let until = self.group.epochs.len().min(epoch as usize);
        let lists = self.group.epochs[..until].iter().map(|r| match &r.change {
            Change::Rebase { revoked } => &revoked[..],
            _ => &[],
        });
        lists.flatten().copied()
    }

    /// Whether all steps up to `epoch` lead from a hashed V to the next V.
    fn leads_until(&self, epoch: u32, rng: &mut impl CryptoRng) -> bool {
        let rebases = self.group.rebases.iter().copied();
        let rebases = rebases.take_while(|rebase| *rebase <= epoch);
        let mut bases: Vec<u32> = core::iter::once(0).chain(rebases).collect();
        bases.push(epoch + 1);
        let steps = |from: u32, to: u32| {
            &self.steps[self.until[from as usize]..self.until[to as usize - 1]]
        };
        let segments = bases
            .windows(2)
            .map(|pair| (pair[0], steps(pair[0], pair[1])));
        let segments: Vec<(G1, &[Step])> = segments
            .filter(|(_, steps)| !steps.is_empty())
            .map(|(base, steps)| (self.group.hashed_v(base), steps))
            .collect();
        segments.is_empty() || check_steps(self.first_public_key().w(), &segments, rng).is_ok()
    }

    fn check_identities(&self) -> Result<(), GroupFileError> {
        let first = self.first_public_key();
        let good = |epoch: &u32| self.v(*epoch).is_some_and(|v| first.in_epoch(&v).is_ok());
        match self.group.moves.iter().find(|epoch| !good(epoch)) {
            Some(epoch) => Err(at(*epoch as usize, Rule::PublicKey)),
            None => Ok(()),
        }
    }
}

impl Deref for CheckedGroup {
    type Target = GroupFile;

    fn deref(&self) -> &GroupFile {
        &self.group
    }
}
