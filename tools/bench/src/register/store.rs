//! The store, on the disk under the temporary directory.

use super::{IN_STORE, LIBGROUPSIG};
use crate::measure::Case;
use crate::office::Office;
use clew_manager::Store;
use std::cell::{Cell, RefCell};

/// The rows.
pub fn all(office: &RefCell<Office>) -> Vec<Case<'_>> {
    reading(office)
        .into_iter()
        .chain(enrolling(office))
        .collect()
}

fn reading(office: &RefCell<Office>) -> [Case<'_>; 2] {
    let machine = office.borrow().machine("machine-0");
    let dir = office.borrow().dir();
    [
        Case::new("store-row", "a machine's entry with its proof", move || {
            let office = office.borrow();
            office.store.row(&machine).is_ok()
        }),
        Case::new(
            "store-open",
            "opens the store, checks its group file",
            move || Store::open(&dir).is_ok(),
        ),
    ]
}

fn enrolling(office: &RefCell<Office>) -> [Case<'_>; 3] {
    let next = Cell::new(IN_STORE);
    let name = move || {
        next.set(next.get() + 1);
        next.get()
    };
    let (name_2, name_3) = (name.clone(), name.clone());
    [
        Case::with_input("enrol", "a whole join, rolled back", name, |i| {
            drop(office.borrow_mut().begin(&format!("rolled-back-{i}")));
        })
        .quote(LIBGROUPSIG, 564.0),
        Case::with_input("enrol-commit", "a whole join, on disk", name_2, |i| {
            office.borrow_mut().enrol(&format!("on-disk-{i}"))
        })
        .against("enrol"),
        Case::with_input(
            "enrol-publish",
            "the same, group file written",
            name_3,
            |i| {
                let mut office = office.borrow_mut();
                office.enrol(&format!("published-{i}"));
                office.store.refresh().is_ok()
            },
        )
        .against("enrol"),
    ]
}
