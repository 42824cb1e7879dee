//! What both schemes ask the pairing.

use crate::curve::{G1, PreparedG2, pairing_product};

/// Whether e(left) = e(right).
pub(crate) fn equal(left: (&G1, &PreparedG2), right: (&G1, &PreparedG2)) -> bool {
    pairing_product([left, (&-*right.0, right.1)]).is_identity()
}
