//! Reading a group file: every rule of spec section 3 up to the first public key, in its order.

use super::rule::at;
use super::{GroupFileError, Rule};
use crate::parts::{
    EpochRecord, Genesis, Kind, NoPart, Part, RegisterHead, SealedHead, body_hash, kind,
    signed_message,
};
use crate::signed::{holds, strict_key};
use crate::wire::Fields;
use clew_group::{Proof, PublicKey, bbs04};

/// The first bytes of every group file.
pub const HEADER: &[u8; 16] = b"clew-group-file\n";

/// Most epochs after the first that one group may have.
pub const MAX_EPOCHS: usize = 1 << 20;

/// The decoded bodies, and the first public key, checked.
pub(super) struct Read {
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub register: SealedHead,
    pub first_key: PublicKey,
}

pub(super) fn read(bytes: &[u8]) -> Result<Read, GroupFileError> {
    let parts = split(bytes)?;
    let (records, register) = by_kind(&parts)?;
    let genesis = Genesis::decode(records[0].body).ok_or(at(0, Rule::Layout))?;
    let epochs = decode_epochs(&genesis, &records[1..])?;
    let head = RegisterHead::decode(register.body).ok_or(at(records.len(), Rule::Layout))?;
    check_signatures(&genesis, &parts)?;
    let last = check_chain(records, &epochs)?;
    if head.last.0 != last {
        return Err(at(records.len(), Rule::Chain));
    }
    let first_key = first_key(&genesis).ok_or(at(0, Rule::PublicKey))?;
    Ok(Read {
        genesis,
        epochs,
        register: SealedHead {
            head,
            signature: register.signature,
        },
        first_key,
    })
}

fn split(bytes: &[u8]) -> Result<Vec<Part<'_>>, GroupFileError> {
    let mut fields = Fields(bytes.strip_prefix(HEADER).ok_or(at(0, Rule::Header))?);
    let mut parts = Vec::new();
    while !fields.0.is_empty() {
        let part = Part::read(&mut fields).map_err(|error| match error {
            NoPart::Truncated => at(parts.len(), Rule::Truncated),
            NoPart::TooLong => at(parts.len(), Rule::TooLong),
        })?;
        parts.push(part);
    }
    Ok(parts)
}

/// Kinds in their order: the genesis, epochs, one register, nothing more.
fn by_kind<'p, 'a>(
    parts: &'p [Part<'a>],
) -> Result<(&'p [Part<'a>], &'p Part<'a>), GroupFileError> {
    let is = |i: usize, wanted: Kind| parts.get(i).and_then(|p| kind(p.body)) == Some(wanted);
    if parts.is_empty() {
        return Err(at(0, Rule::Truncated));
    }
    if !is(0, Kind::Genesis) {
        return Err(at(0, Rule::Kind));
    }
    let records = 1 + (1..parts.len()).take_while(|i| is(*i, Kind::Epoch)).count();
    match parts.get(records) {
        None => Err(at(records, Rule::Truncated)),
        Some(_) if !is(records, Kind::Register) => Err(at(records, Rule::Kind)),
        Some(_) if parts.len() > records + 1 => Err(at(records + 1, Rule::TrailingBytes)),
        Some(register) => Ok((&parts[..records], register)),
    }
}

fn decode_epochs(
    genesis: &Genesis,
    records: &[Part<'_>],
) -> Result<Vec<EpochRecord>, GroupFileError> {
    let decode = |(i, part): (usize, &Part<'_>)| {
        EpochRecord::decode(genesis.scheme, part.body).ok_or(at(i + 1, Rule::Layout))
    };
    records.iter().enumerate().map(decode).collect()
}

fn check_signatures(genesis: &Genesis, parts: &[Part<'_>]) -> Result<(), GroupFileError> {
    let manager = strict_key(&genesis.manager).ok_or(at(0, Rule::Signature))?;
    let bad = |part: &Part<'_>| !holds(&manager, &signed_message(part.body), &part.signature);
    match parts.iter().position(bad) {
        Some(part) => Err(at(part, Rule::Signature)),
        None => Ok(()),
    }
}

/// The hash of the last record, if each names the one before and they count up in time.
fn check_chain(records: &[Part<'_>], epochs: &[EpochRecord]) -> Result<[u8; 32], GroupFileError> {
    let (mut previous, mut start_before) = (body_hash(records[0].body), 0);
    for (number, (record, epoch)) in (1..).zip(records[1..].iter().zip(epochs)) {
        if epoch.epoch as usize != number {
            return Err(at(number, Rule::Epoch));
        }
        if epoch.previous.0 != previous {
            return Err(at(number, Rule::Chain));
        }
        if epoch.start <= start_before {
            return Err(at(number, Rule::Start));
        }
        if number > MAX_EPOCHS {
            return Err(at(number, Rule::TooManyEpochs));
        }
        (previous, start_before) = (body_hash(record.body), epoch.start);
    }
    Ok(previous)
}

fn first_key(genesis: &Genesis) -> Option<PublicKey> {
    let key = PublicKey::from_bytes(genesis.scheme, &genesis.public_key).ok()?;
    let fits = match &key {
        PublicKey::Bbs04(bbs04) => {
            let h = bbs04::Opening::hash_h(&genesis.nonce).to_bytes();
            bbs04.is_genesis() && genesis.public_key[48..96] == h
        }
        PublicKey::Xr(xr) => {
            let proof = Proof::from_bytes(genesis.issuer_proof.as_ref()?).ok()?;
            xr.check_genesis(&genesis.nonce, &proof).is_ok()
        }
    };
    fits.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Change;
    use clew_group::{EpochId, xr};

    /// Without signatures, which would take a minute.
    #[test]
    fn too_many_epochs() {
        let mut bodies = vec![vec![0]];
        let mut epochs = Vec::new();
        for epoch in 1..=MAX_EPOCHS as u32 + 1 {
            let record = EpochRecord {
                epoch,
                previous: EpochId(body_hash(&bodies[bodies.len() - 1])),
                start: epoch.into(),
                change: Change::XrRevocation(Box::new([0; xr::REVOCATION_BYTES])),
            };
            bodies.push(record.encode());
            epochs.push(record);
        }
        let signature = [0; 64];
        let parts: Vec<Part<'_>> = bodies.iter().map(|b| Part { body: b, signature }).collect();
        assert!(check_chain(&parts[..=MAX_EPOCHS], &epochs[..MAX_EPOCHS]).is_ok());
        assert_eq!(
            check_chain(&parts, &epochs),
            Err(at(MAX_EPOCHS + 1, Rule::TooManyEpochs))
        );
    }
}
