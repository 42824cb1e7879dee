//! Capture files from anywhere: reading never fails on their bytes, and loses none of them.

use clew_capture::{Annotated, Note, PacketLengths, RECORD_LEN_MAX, Reader, Record, Writer};

/// Bytes by which every packet is made longer: the size of a trailer, and no multiple of four.
const GROWTH: usize = 367;

/// Checks every promise of the container code on arbitrary bytes.
pub fn container(data: &[u8]) {
    let Ok(records) = Reader::new(data).map(collect) else {
        return;
    };
    assert!(
        records
            .iter()
            .all(|record| record.bytes().len() <= RECORD_LEN_MAX)
    );
    assert!(records.iter().all(|record| !record.bytes().is_empty()));
    assert_same(&write(&records), data, "copy");
    let packets = records.iter().filter_map(Record::packet);
    assert!(
        packets
            .zip(1..)
            .all(|(packet, number)| packet.frame == number)
    );
    resizing_is_undone(data, &records);
    annotation_keeps_packets(&records);
}

/// Whether two captures are the same bytes, without printing megabytes where they are not.
pub fn assert_same(found: &[u8], expected: &[u8], what: &str) {
    let differs_at = found.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(differs_at, None, "{what}: first difference");
    assert_eq!(found.len(), expected.len(), "{what}: length");
}

fn resizing_is_undone(data: &[u8], records: &[Record]) {
    let mut longer = records.to_vec();
    let grown: Vec<bool> = longer.iter_mut().map(grow).collect();
    let mut again = collect(Reader::new(&write(&longer)[..]).expect("what was written is read"));
    assert_eq!(again.len(), records.len());
    for (record, _) in again.iter_mut().zip(&grown).filter(|(_, grown)| **grown) {
        let shorter = record.data()[..record.data().len() - GROWTH].to_vec();
        record
            .replace(&shorter)
            .expect("what grew can shrink again");
    }
    let restored = write(&again);
    assert_same(
        &without_snaplens(&restored),
        &without_snaplens(data),
        "longer and shorter again",
    );
}

fn grow(record: &mut Record) -> bool {
    let before = record.bytes().to_vec();
    let longer = [record.data(), &[0xab; GROWTH]].concat();
    let grown = record.replace(&longer).is_ok();
    assert!(
        grown || before == record.bytes(),
        "a refused record changed"
    );
    grown
}

fn annotation_keeps_packets(records: &[Record]) {
    let mut annotated = Annotated::new(Vec::new(), "fuzz");
    let note = Note {
        comment: "valid",
        json: r#"{"packet":1}"#,
    };
    for record in records {
        annotated
            .write(record.clone(), Some(note))
            .expect("memory does not fail");
    }
    let bytes = annotated.finish().expect("memory does not fail");
    let Ok(mut reader) = Reader::new(&bytes[..]) else {
        assert!(bytes.is_empty() && !records.iter().any(|record| record.packet().is_some()));
        return;
    };
    let after: Vec<_> = reader
        .by_ref()
        .map(|record| record.expect("memory"))
        .collect();
    assert_eq!(reader.damage(), None);
    let packets = |records: &[Record]| -> Vec<_> {
        records
            .iter()
            .filter_map(|record| Some((record.packet()?, record.data().to_vec())))
            .collect()
    };
    assert!(
        packets(&after) == packets(records),
        "annotation changed a packet"
    );
}

/// Blanks the snap lengths, which alone may differ after packets grew beyond them.
fn without_snaplens(capture: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in Reader::new(capture).map(collect).unwrap_or_default() {
        let field = match record.bytes() {
            [0xa1, 0xb2, ..] | [0xd4 | 0x4d, ..] if bytes.is_empty() => 16..20,
            [1, 0, 0, 0, ..] | [0, 0, 0, 1, ..] if record.packet().is_none() => 12..16,
            _ => 0..0,
        };
        let start = bytes.len();
        bytes.extend(record.bytes());
        bytes
            .get_mut(start..)
            .and_then(|raw| raw.get_mut(field))
            .unwrap_or_default()
            .fill(0);
    }
    bytes
}

fn collect(reader: Reader<&[u8]>) -> Vec<Record> {
    reader
        .map(|record| record.expect("memory does not fail"))
        .collect()
}

fn write(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), PacketLengths::MayGrow);
    for record in records {
        writer.write(record).expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail")
}
