use clew_capture::{PacketLengths, Reader, Writer};
use std::fs::{self, File};
use std::path::Path;

/// The captures of the project.
pub const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");

/// The first packets of a capture, with what stands between them, as a file.
pub fn first(of: &Path, most: usize, to: &Path) {
    let reader = Reader::new(File::open(of).unwrap()).unwrap();
    let mut writer = Writer::new(Vec::new(), PacketLengths::NeverGrow);
    let mut packets = 0;
    for record in reader {
        let record = record.unwrap();
        packets += usize::from(record.packet().is_some());
        if packets > most {
            break;
        }
        writer.write(&record).unwrap();
    }
    fs::write(to, writer.finish().unwrap()).unwrap();
}
