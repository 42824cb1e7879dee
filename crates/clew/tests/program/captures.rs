pub use crate::beginning::CAPTURES;
use crate::beginning::first;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Packets of each capture that are used: enough for every kind, and few enough for a test.
const PACKETS: usize = 150;

/// The captures of the project, and those beside it where they are.
pub fn captures() -> Vec<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
    let beside = std::env::var("CLEW_CAPTURES").unwrap_or_else(|_| beside.to_owned());
    let folders = [Path::new(CAPTURES), Path::new(&beside)];
    let mut all = Vec::new();
    for folder in folders {
        match fs::read_dir(folder) {
            Ok(entries) => all.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => {
                // Not by println!, which is shown for tests that fail only.
                let _ = writeln!(
                    io::stderr(),
                    "SKIPPED further captures: none in {}",
                    folder.display()
                );
            }
        }
    }
    all.retain(|path| {
        path.extension()
            .is_some_and(|e| e == "pcap" || e == "pcapng")
    });
    all
}

/// The beginning of a capture as a file.
pub fn beginning(of: &Path, to: &Path) {
    first(of, PACKETS, to);
}

/// pcap's snap length, the one field that may differ after strip.
pub fn without_snaplen(mut file: Vec<u8>) -> Vec<u8> {
    if file[..4] != [0x0a, 0x0d, 0x0d, 0x0a] {
        file[16..20].fill(0);
    }
    file
}
