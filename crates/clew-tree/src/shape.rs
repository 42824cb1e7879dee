//! Which nodes a tree has: from the number of packets and the degree alone.

use crate::PACKETS_MAX;

/// How many children a node has, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Degree(u16);

impl Degree {
    /// Two: the shortest paths, and what Wong and Lam recommend (section 2.3).
    pub const BINARY: Self = Self(2);

    /// All packets under the root: Wong and Lam's star (section 2.1).
    pub const STAR: Self = Self(PACKETS_MAX);

    /// Creates a degree of 2 to [`PACKETS_MAX`].
    pub const fn new(degree: u16) -> Option<Self> {
        if degree < 2 || degree > PACKETS_MAX {
            return None;
        }
        Some(Self(degree))
    }

    /// Returns the degree as a number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The parent's place of the node at a place. Division takes the processor long, and most trees
    /// are binary.
    pub(crate) const fn above(self, place: u16) -> u16 {
        match self.0 {
            2 => place / 2,
            degree => place / degree,
        }
    }
}

/// The way from a leaf to the root, one step for each level.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    degree: Degree,
    /// Place within the level, and the last place of it.
    own: u16,
    last: u16,
    level: u8,
}

/// One step up. A node without siblings is its own parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Level and place of the parent.
    pub level: u8,
    pub parent: u16,
    /// The parent's children: how many, and which of them the node is.
    pub children: u16,
    pub own: u16,
}

impl Step {
    /// Returns the number of siblings, whose digests a path has.
    pub fn siblings(&self) -> usize {
        usize::from(self.children) - 1
    }
}

impl Steps {
    pub const fn new(index: u16, count: u16, degree: Degree) -> Self {
        Self {
            degree,
            own: index,
            last: count - 1,
            level: 0,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.last == 0 {
            return None;
        }
        let parent = self.degree.above(self.own);
        let first = parent * self.degree.get();
        let step = Step {
            level: self.level + 1,
            parent,
            children: self.degree.get().min(self.last - first + 1),
            own: self.own - first,
        };
        (self.own, self.last, self.level) = (parent, self.degree.above(self.last), step.level);
        Some(step)
    }
}
