#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::batch::batch(data));
