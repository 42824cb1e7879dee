//! Both schemes behind one set of types say what each says by itself.

use crate::common::{EPOCH, NONCE, rng};
use clew_group::curve::G1;
use clew_group::{
    DecodeError, EpochId, FOUNDING_BYTES, Fault, Invalid, MemberKey, PublicKey, Scheme, Signed,
    SigningKey, VerifyingKey, Witness, bbs04, xr,
};

/// What is needed of a group of either scheme, in epoch 1, after a rebase.
struct Case {
    scheme: Scheme,
    public: PublicKey,
    key: MemberKey,
    witness: Witness,
}

fn cases() -> [Case; 2] {
    let mut bbs04 = crate::common::Group::new(1);
    let mut xr = crate::common::xr::Group::new(1);
    bbs04.rebase(&[]);
    xr.rebase(&[]);
    [
        Case {
            scheme: Scheme::Bbs04,
            public: PublicKey::Bbs04(bbs04.public),
            key: MemberKey::Bbs04(bbs04.member.key),
            witness: bbs04.member.witness,
        },
        Case {
            scheme: Scheme::Xr,
            public: PublicKey::Xr(xr.public),
            key: MemberKey::Xr(xr.member.key),
            witness: xr.member.witness,
        },
    ]
}

#[test]
fn keys_go_through_bytes() {
    for case in cases() {
        let (scheme, public) = (case.scheme, &case.public);
        assert_eq!((public.scheme(), case.key.scheme()), (scheme, scheme));
        let founding = public.founding_bytes();
        assert_eq!(founding.len(), FOUNDING_BYTES);
        let genesis = PublicKey::founded(scheme, &NONCE, &founding).unwrap();
        let v_0 = PublicKey::first_v(scheme, &NONCE);
        let v_1 = PublicKey::rebased_v(scheme, &NONCE, 1, &crate::common::REBASED);
        assert_eq!(genesis.v(), &v_0);
        assert_eq!(genesis.in_epoch(&v_1).as_ref(), Ok(public));
        assert_eq!((public.v(), public.w()), (&v_1, genesis.w()));
        assert_eq!(public.in_epoch(&G1::default()), Err(Invalid));
        let read = PublicKey::founded(scheme, &NONCE, &founding[1..]);
        assert_eq!(read, Err(DecodeError::Length));

        let bytes = case.key.to_bytes();
        assert_eq!(bytes.len(), scheme.member_key_bytes());
        let again = MemberKey::from_bytes(scheme, &bytes).unwrap();
        assert_eq!(again.to_bytes(), bytes);
        assert_eq!(again.credential().to_bytes(), bytes[..48]);
        assert_eq!(again.x().to_bytes(), bytes[48..80]);
        assert_eq!(format!("{again:?}").matches("MemberKey(..)").count(), 1);
        let other = [Scheme::Bbs04, Scheme::Xr]
            .into_iter()
            .find(|s| *s != scheme);
        let read = MemberKey::from_bytes(other.unwrap(), &bytes);
        assert_eq!(read.unwrap_err(), DecodeError::Length);
    }
    let [xr, bbs04] = [Scheme::Xr, Scheme::Bbs04]
        .map(|scheme| PublicKey::rebased_v(scheme, &NONCE, 1, &crate::common::REBASED));
    assert_ne!(xr, bbs04);
    let other = PublicKey::rebased_v(Scheme::Xr, &NONCE, 1, &EpochId([1; 32]));
    assert_ne!(xr, other, "another history, another V");
}

#[test]
fn sizes_are_those_of_the_schemes() {
    let sizes = |scheme: Scheme| [false, true].map(|form| scheme.signature_bytes(form));
    assert_eq!(sizes(Scheme::Bbs04), [336, 1104]);
    assert_eq!(sizes(Scheme::Xr), [288, 336]);
    assert_eq!(Scheme::SIGNATURE_BYTES_MAX, 1104);
    let keys = [Scheme::Bbs04, Scheme::Xr].map(Scheme::member_key_bytes);
    assert_eq!(keys, [80, 112]);
    for (code, scheme) in [(1, Scheme::Bbs04), (2, Scheme::Xr)] {
        assert_eq!(
            (scheme.code(), Scheme::from_code(code)),
            (code, Some(scheme))
        );
        assert_eq!(format!("{scheme}"), scheme.as_str());
    }
    assert_eq!([0, 3, 255].map(Scheme::from_code), [None; 3]);
    assert_eq!(
        [Scheme::Bbs04, Scheme::Xr].map(Scheme::as_str),
        ["bbs04", "xr"]
    );
}

fn signed<'a>(message: &'a [u8], body: &'a [u8], incremental: bool) -> Signed<'a> {
    Signed {
        message,
        body,
        incremental,
    }
}

#[test]
fn either_form_signs_and_verifies() {
    for case in cases() {
        let signer = SigningKey::new(&case.public, EPOCH, case.key.clone(), &case.witness).unwrap();
        let verifier = VerifyingKey::new(&case.public, EPOCH);
        assert_eq!(
            (signer.scheme(), verifier.scheme()),
            (case.scheme, case.scheme)
        );
        assert_eq!(format!("{signer:?}"), "SigningKey(..)");
        let elsewhere = VerifyingKey::new(&case.public, EpochId([1; 32]));
        for incremental in [false, true] {
            let mut body = vec![0; case.scheme.signature_bytes(incremental)];
            let precursor = signer.precursor(&mut rng(1));
            precursor.sign(&[b"mess", b"age"], incremental, &mut body);
            let good = signed(b"message", &body, incremental);
            assert_eq!(verifier.verify(good, &mut rng(2)), Ok(()));
            assert_eq!(elsewhere.verify(good, &mut rng(2)), Err(Fault::Invalid));
            let other = signed(b"massage", &body, incremental);
            let short = signed(b"message", &body[1..], incremental);
            let length = Err(Fault::Encoding(DecodeError::Length));
            assert_eq!(verifier.verify(other, &mut rng(2)), Err(Fault::Invalid));
            assert_eq!(verifier.verify(short, &mut rng(2)), length);
            let all = [good, other, short, good];
            let verdicts = verifier.verify_batch(&all, &mut rng(3));
            assert_eq!(verdicts, [Ok(()), Err(Fault::Invalid), length, Ok(())]);
        }
    }
}

/// A key of one scheme does not sign in a group of the other, nor without its own witness.
#[test]
fn schemes_do_not_mix() {
    let [a, b] = cases();
    let signer = |case: &Case, key: &MemberKey, witness: &Witness| {
        SigningKey::new(&case.public, EPOCH, key.clone(), witness).err()
    };
    for (one, other) in [(&a, &b), (&b, &a)] {
        assert_eq!(signer(one, &one.key, &one.witness), None);
        assert_eq!(signer(one, &other.key, &one.witness), Some(Invalid));
        assert_eq!(signer(one, &other.key, &other.witness), Some(Invalid));
        assert_eq!(signer(one, &one.key, &other.witness), Some(Invalid));
        let generator = Witness::from_bytes(&G1::generator().to_bytes()).unwrap();
        assert_eq!(signer(one, &one.key, &generator), Some(Invalid));
    }
    assert_eq!(bbs04::MEMBER_KEY_BYTES + 32, xr::MEMBER_KEY_BYTES);
}
