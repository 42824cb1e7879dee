#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::files::join_file(data));
