#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::tunnel_engine::tunnel_engine(data));
