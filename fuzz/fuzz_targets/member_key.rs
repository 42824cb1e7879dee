#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::signature::member_key(data));
