#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::files::witness_file(data));
