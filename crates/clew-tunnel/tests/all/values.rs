//! Values and plaintexts: `spec/tunnel.md` sections 4.2 and 5.

use clew_tunnel::Reason;
use clew_tunnel::limits::{ITEMS_MAX, RPCS_MAX};
use clew_tunnel::wire::plaintext::{Calls, Plaintext};
use clew_tunnel::wire::values::{CallWriter, Value};
use proptest::prelude::*;

/// A value of any type, as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Number(u32),
    Long([u8; 8]),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Tree>),
}

impl Tree {
    fn write<'a>(&self, call: CallWriter<'a>) -> CallWriter<'a> {
        match self {
            Self::Number(number) => call.number(*number),
            Self::Long(long) => call.long(*long),
            Self::Text(text) => call.text(text),
            Self::Bytes(bytes) => call.bytes(bytes),
            Self::List(all) => {
                let inside = all.iter().fold(call.list(), |call, one| one.write(call));
                inside.end_list()
            }
        }
    }

    fn is(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Number(a), Value::Number(b)) => *a == b,
            (Self::Long(a), Value::Long(b)) => *a == b,
            (Self::Text(a), Value::Text(b)) => a == b,
            (Self::Bytes(a), Value::Bytes(b)) => a == b,
            (Self::List(all), Value::List(values)) => {
                let values: Vec<_> = values.collect();
                all.len() == values.len() && all.iter().zip(values).all(|(a, b)| a.is(b))
            }
            _ => false,
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        any::<u32>().prop_map(Tree::Number),
        any::<[u8; 8]>().prop_map(Tree::Long),
        "\\PC{0,20}".prop_map(Tree::Text),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Tree::Bytes),
    ];
    // Two lists at most, in the list of the RPC.
    leaf.prop_recursive(2, 20, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(Tree::List)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(connection: u32, name in "[a-z]{1,64}", all in prop::collection::vec(tree(), 0..6), padding in 0usize..9) {
        let mut out = Vec::new();
        let call = CallWriter::new(&mut out, connection, &name);
        all.iter().fold(call, |call, one| one.write(call)).end().unwrap();
        let length = out.len();
        out.resize(length + padding, 0);
        let mut calls = Calls::parse(&out).unwrap();
        prop_assert_eq!(calls.as_bytes().len(), length);
        let call = calls.next().unwrap();
        prop_assert_eq!((call.connection, call.name, call.length), (connection, &name[..], length - 4));
        let read: Vec<_> = call.arguments.collect();
        prop_assert!(read.len() == all.len() && all.iter().zip(read).all(|(a, b)| a.is(b)));
        prop_assert!(calls.next().is_none());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(calls) = Calls::parse(&bytes) {
            calls.for_each(|call| call.arguments.for_each(|_| ()));
        }
        let _ = Plaintext::parse(&bytes);
    }
}

/// An RPC of connection 7 whose list has these bytes.
fn rpc(list: &[u8]) -> Vec<u8> {
    [b"\0\0\0\x07l", list, b"e"].concat()
}

/// The same with the name `x` first.
fn named(list: &[u8]) -> Vec<u8> {
    rpc(&[b"s\0\x01x", list].concat())
}

#[track_caller]
fn refused(bytes: &[u8], reason: Reason) {
    assert_eq!(Calls::parse(bytes), Err(reason));
}

#[test]
fn each_type_as_the_specification_writes_it() {
    let mut out = Vec::new();
    let call = CallWriter::new(&mut out, 7, "x")
        .number(1)
        .long(*b"12345678");
    let call = call.text("é").bytes(b"ab").list().end_list();
    call.end().unwrap();
    let expected = named(b"d\0\0\0\x01q12345678s\0\x02\xc3\xa9b\0\x02able");
    assert_eq!(out, expected);
}

#[test]
fn reasons_of_values() {
    refused(&named(b"z"), Reason::UnknownType);
    refused(
        &named(&[&b"s\x02\x01"[..], &[b'x'; 513]].concat()),
        Reason::TooLong,
    );
    assert!(Calls::parse(&named(&[&b"s\x02\0"[..], &[b'x'; 512]].concat())).is_ok());
    refused(&named(b"s\0\x01\xff"), Reason::BadUtf8);
    refused(&named(b"llllee"), Reason::TooDeep);
    assert!(Calls::parse(&named(b"llleee")).is_ok());
    let numbers = |count| b"d\0\0\0\0".repeat(count);
    assert!(Calls::parse(&named(&numbers(ITEMS_MAX - 1))).is_ok());
    refused(&named(&numbers(ITEMS_MAX)), Reason::TooManyValues);
    let nested = [b"l", &numbers(ITEMS_MAX - 1)[..], b"e"].concat();
    refused(&named(&nested), Reason::TooManyValues);
    for bad in [
        &b"\0\0\0\x07d\0\0\0\0"[..],
        b"\0\0\0\x07lee",
        b"\0\0\0\x07ld\0\0\0\0e",
    ] {
        refused(bad, Reason::NotACall);
    }
    refused(&rpc(b"s\0\0"), Reason::NotACall);
    refused(
        &rpc(&[&b"s\0\x41"[..], &[b'x'; 65]].concat()),
        Reason::NotACall,
    );
    assert!(Calls::parse(&rpc(&[&b"s\0\x40"[..], &[b'x'; 64]].concat())).is_ok());
    refused(b"\0\0\0\x07zzz", Reason::UnknownType);
}

#[test]
fn every_cut_is_truncated() {
    let whole = named(b"d\0\0\0\x01q12345678s\0\x02\xc3\xa9b\0\x02able");
    for cut in 5..whole.len() {
        refused(&whole[..cut], Reason::Truncated);
    }
    assert_eq!(Plaintext::parse(&[0; 7]), Err(Reason::Truncated));
}

#[test]
fn padding_is_zero_to_the_end() {
    for padding in [0, 1, 4, 5, 300] {
        let bytes = [named(b""), vec![0; padding]].concat();
        assert_eq!(Calls::parse(&bytes).unwrap().count(), 1);
        assert!(Calls::parse(&vec![0; padding]).unwrap().is_empty());
    }
    refused(&[named(b""), vec![0, 0, 0, 1]].concat(), Reason::BadPadding);
    // Five bytes are the beginning of an RPC.
    refused(
        &[named(b""), vec![0, 0, 0, 0, 1]].concat(),
        Reason::UnknownType,
    );
    refused(
        &[named(b""), vec![0, 0, 0, 0, 0, 1]].concat(),
        Reason::UnknownType,
    );
}

#[test]
fn so_many_rpcs_and_no_more() {
    assert_eq!(
        Calls::parse(&named(b"").repeat(RPCS_MAX)).unwrap().count(),
        RPCS_MAX
    );
    refused(&named(b"").repeat(RPCS_MAX + 1), Reason::TooManyRpcs);
}

#[test]
fn what_would_be_refused_is_not_written() {
    let mut out = b"before".to_vec();
    let long = "x".repeat(513);
    let written = CallWriter::new(&mut out, 1, "x").text(&long).end();
    assert_eq!(written, Err(Reason::TooLong));
    let written = CallWriter::new(&mut out, 1, "x").bytes(&[0; 65_536]).end();
    assert_eq!(written, Err(Reason::TooLong));
    let written = CallWriter::new(&mut out, 1, "x").end_list().end();
    assert_eq!(written, Err(Reason::NotACall));
    assert_eq!(
        CallWriter::new(&mut out, 1, "x").list().end(),
        Err(Reason::Truncated)
    );
    assert_eq!(
        CallWriter::new(&mut out, 1, "").end(),
        Err(Reason::NotACall)
    );
    assert_eq!(out, b"before");
}

/// An RPC of connection 0 without arguments, by its name.
fn control(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    CallWriter::new(&mut out, 0, name).end().unwrap();
    out
}

#[test]
fn rpcs_out_of_sequence_stand_before_others() {
    let split = |seq: u32, names: &[&str]| {
        let rpcs: Vec<_> = names.iter().flat_map(|name| control(name)).collect();
        let bytes = [&seq.to_be_bytes()[..], &[0; 4], &rpcs].concat();
        let split = Plaintext::parse(&bytes).unwrap().split();
        split.map(|(urgent, counted)| (urgent.count(), counted.count()))
    };
    assert_eq!(split(256, &["nextTid", "puzz", "ok", "ok"]), Ok((2, 2)));
    assert_eq!(split(0, &["puzzSoln"]), Ok((1, 0)));
    assert_eq!(split(0, &[]), Ok((0, 0)));
    assert_eq!(split(256, &["ok", "puzz"]), Err(Reason::Order));
    assert_eq!(split(0, &["ok"]), Err(Reason::Order));
    assert_eq!(split(256, &["puzz"]), Err(Reason::Order));
}
