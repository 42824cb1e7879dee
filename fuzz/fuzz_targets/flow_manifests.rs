#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clew_fuzz::flow::flow_manifests(data));
