#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::logs::log_entry(data));
