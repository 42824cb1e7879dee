//! The store, on the disk under the temporary directory.

use super::{IN_STORE, LIBGROUPSIG};
use crate::issuing::Issuing;
use crate::measure::Case;
use clew_manager::Store;
use std::cell::{Cell, RefCell};

/// The rows.
pub fn all(issuing: &RefCell<Issuing>) -> Vec<Case<'_>> {
    reading(issuing)
        .into_iter()
        .chain(enrolling(issuing))
        .collect()
}

fn reading(issuing: &RefCell<Issuing>) -> [Case<'_>; 2] {
    let machine = issuing.borrow().machine("machine-0");
    let dir = issuing.borrow().dir();
    [
        Case::new("store-row", "a machine's entry with its proof", move || {
            let issuing = issuing.borrow();
            issuing.store.row(&machine).is_ok()
        }),
        Case::new(
            "store-open",
            "opens the store, checks its group file",
            move || Store::open(&dir).is_ok(),
        ),
    ]
}

fn enrolling(issuing: &RefCell<Issuing>) -> [Case<'_>; 3] {
    let next = Cell::new(IN_STORE);
    let name = move || {
        next.set(next.get() + 1);
        next.get()
    };
    let (name_2, name_3) = (name.clone(), name.clone());
    [
        Case::with_input("enrol", "a whole join, rolled back", name, |i| {
            drop(issuing.borrow_mut().begin(&format!("rolled-back-{i}")));
        })
        .quote(LIBGROUPSIG, 564.0),
        Case::with_input("enrol-commit", "a whole join, on disk", name_2, |i| {
            issuing.borrow_mut().enrol(&format!("on-disk-{i}"))
        })
        .against("enrol"),
        Case::with_input(
            "enrol-publish",
            "the same, group file written",
            name_3,
            |i| {
                let mut issuing = issuing.borrow_mut();
                issuing.enrol(&format!("published-{i}"));
                issuing.store.refresh().is_ok()
            },
        )
        .against("enrol"),
    ]
}
