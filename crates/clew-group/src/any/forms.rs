//! XR signatures from bytes, in either form.

use super::{Fault, Signed};
use crate::{DecodeError, Invalid, xr};
use alloc::vec::Vec;
use rand_core::CryptoRng;

/// Either form of an XR signature.
pub(super) enum Xr {
    Plain(xr::Signature),
    Incremental(xr::IncrementalSignature),
}

impl Xr {
    pub(super) fn decode(key: &xr::VerifyingKey, signed: &Signed<'_>) -> Result<Self, Fault> {
        let Signed {
            message,
            body,
            incremental,
        } = *signed;
        Ok(if incremental {
            key.check_hash(
                &[message],
                body.try_into().map_err(|_| DecodeError::Length)?,
            )?;
            Self::Incremental(xr::IncrementalSignature::from_bytes(body)?)
        } else {
            Self::Plain(xr::Signature::from_bytes(body)?)
        })
    }

    /// Decodes each as [`Self::decode`] does, all points of a form together.
    fn decode_all(key: &xr::VerifyingKey, all: &[Signed<'_>]) -> Vec<Result<Self, Fault>> {
        let check = |signed: &Signed<'_>| match signed.body.try_into() {
            _ if !signed.incremental => Ok(()),
            Ok(body) => Ok(key.check_hash(&[signed.message], body)?),
            Err(_) => Err(Fault::Encoding(DecodeError::Length)),
        };
        let checked: Vec<Result<(), Fault>> = all.iter().map(check).collect();
        let bodies = |incremental: bool| -> Vec<&[u8]> {
            let passed = all
                .iter()
                .zip(&checked)
                .filter(|(_, checked)| checked.is_ok());
            let of_form = passed.filter(|(signed, _)| signed.incremental == incremental);
            of_form.map(|(signed, _)| signed.body).collect()
        };
        let backend = key.backend();
        let plain = xr::Signature::from_bytes_all(backend, &bodies(false));
        let carrying = xr::IncrementalSignature::from_bytes_all(backend, &bodies(true));
        let (mut plain, mut carrying) = (plain.into_iter(), carrying.into_iter());
        let forms = all.iter().zip(&checked).map(|(signed, checked)| {
            (*checked)?;
            Ok(if signed.incremental {
                Self::Incremental(carrying.next().ok_or(Invalid)??)
            } else {
                Self::Plain(plain.next().ok_or(Invalid)??)
            })
        });
        forms.collect()
    }

    fn form(&self) -> xr::Form<'_> {
        match self {
            Self::Plain(signature) => xr::Form::Plain(signature),
            Self::Incremental(signature) => xr::Form::Incremental(signature),
        }
    }
}

/// What does not decode keeps its fault; the rest is one batch.
pub(super) fn verify_batch(
    key: &xr::VerifyingKey,
    signed: &[Signed<'_>],
    rng: &mut impl CryptoRng,
) -> Vec<Result<(), Fault>> {
    let decoded = Xr::decode_all(key, signed);
    let messages: Vec<[&[u8]; 1]> = signed.iter().map(|s| [s.message]).collect();
    let items: Vec<xr::Item<'_>> = decoded
        .iter()
        .zip(&messages)
        .filter_map(|(signature, message)| {
            let form = signature.as_ref().ok()?.form();
            Some(xr::Item { message, form })
        })
        .collect();
    let mut verdicts = key.verify_batch(&items, rng).into_iter();
    decoded
        .iter()
        .map(|signature| match signature {
            Err(fault) => Err(*fault),
            Ok(_) => verdicts.next().unwrap_or(Err(Invalid)).map_err(Fault::from),
        })
        .collect()
}
