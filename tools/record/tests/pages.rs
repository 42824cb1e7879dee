//! The tables of pages are those of the recorded runs.

#[test]
fn pages_show_what_was_recorded() {
    let compared = clew_record::pages::write(true);
    assert!(compared.is_ok(), "{compared:?}");
}
