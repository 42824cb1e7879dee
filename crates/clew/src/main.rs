//! The `clew` binary: ten lines over the library.
fn main() {}
