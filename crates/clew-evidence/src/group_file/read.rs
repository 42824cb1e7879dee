//! Reading a group file: every rule of spec section 3 up to the first public key, in its order.

use super::revoked::{Revoked, check_steps_per_segment};
use super::rule::at;
use super::{GroupFileError, Rule};
use crate::parts::{
    Checkpoint, EpochRecord, Genesis, Kind, NoPart, Part, RegisterHead, body_hash, kind,
    signed_message,
};
use crate::signed::{holds, strict_key};
use crate::wire::Fields;
use clew_group::{Proof, PublicKey};

/// The first bytes of every group file.
pub const HEADER: &[u8; 16] = b"clew-group-file\n";

/// Most epochs after the first that one group may have.
pub const MAX_EPOCHS: usize = 1 << 20;

/// The decoded bodies, what they revoke, and the first public key, checked.
pub(super) struct Read {
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub checkpoints: Vec<Checkpoint>,
    pub register: RegisterHead,
    pub revoked: Revoked,
    pub first_key: PublicKey,
}

pub(super) fn read(bytes: &[u8]) -> Result<Read, GroupFileError> {
    let parts = split(bytes)?;
    let Kinds {
        records,
        checkpoints,
        register,
    } = by_kind(&parts)?;
    let genesis = Genesis::decode(records[0].body).ok_or(at(0, Rule::Layout))?;
    let epochs = decode(&records[1..], 1, |body| {
        EpochRecord::decode(genesis.scheme, body)
    })?;
    let checkpoints = decode(checkpoints, records.len(), Checkpoint::decode)?;
    let last_part = parts.len() - 1;
    let head = RegisterHead::decode(register.body).ok_or(at(last_part, Rule::Layout))?;
    check_signatures(&genesis, &parts)?;
    let revoked = check_records(records, &genesis, &epochs)?;
    if head.last.0 != body_hash(records[records.len() - 1].body) {
        return Err(at(last_part, Rule::Chain));
    }
    check_growth(records.len(), &checkpoints, &head)?;
    let first_key = first_key(&genesis).ok_or(at(0, Rule::PublicKey))?;
    Ok(Read {
        genesis,
        epochs,
        checkpoints,
        register: head,
        revoked,
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

/// The parts by kind; record 0 is there.
struct Kinds<'p, 'a> {
    records: &'p [Part<'a>],
    checkpoints: &'p [Part<'a>],
    register: &'p Part<'a>,
}

/// Kinds in their order: the genesis, epochs, checkpoints, one register, nothing more.
fn by_kind<'p, 'a>(parts: &'p [Part<'a>]) -> Result<Kinds<'p, 'a>, GroupFileError> {
    let of = |wanted: Kind, from: usize| {
        let rest = parts.iter().skip(from);
        from + rest.take_while(|p| kind(p.body) == Some(wanted)).count()
    };
    if parts.is_empty() {
        return Err(at(0, Rule::Truncated));
    }
    if kind(parts[0].body) != Some(Kind::Genesis) {
        return Err(at(0, Rule::Kind));
    }
    let records = of(Kind::Epoch, 1);
    let checkpoints = of(Kind::Checkpoint, records);
    match parts.get(checkpoints) {
        None => Err(at(checkpoints, Rule::Truncated)),
        Some(part) if kind(part.body) != Some(Kind::Register) => Err(at(checkpoints, Rule::Kind)),
        Some(_) if parts.len() > checkpoints + 1 => Err(at(checkpoints + 1, Rule::TrailingBytes)),
        Some(register) => Ok(Kinds {
            records: &parts[..records],
            checkpoints: &parts[records..checkpoints],
            register,
        }),
    }
}

/// Decodes the bodies of parts from number `first` on.
fn decode<T>(
    parts: &[Part<'_>],
    first: usize,
    body: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, GroupFileError> {
    let numbered = (first..).zip(parts);
    let each = numbered.map(|(i, part)| body(part.body).ok_or(at(i, Rule::Layout)));
    each.collect()
}

fn check_signatures(genesis: &Genesis, parts: &[Part<'_>]) -> Result<(), GroupFileError> {
    let manager = strict_key(&genesis.manager).ok_or(at(0, Rule::Signature))?;
    let bad = |part: &Part<'_>| !holds(&manager, &signed_message(part.body), &part.signature);
    match parts.iter().position(bad) {
        Some(part) => Err(at(part, Rule::Signature)),
        None => Ok(()),
    }
}

/// The rules of records, of which the first record that breaks one is named.
fn check_records(
    records: &[Part<'_>],
    genesis: &Genesis,
    epochs: &[EpochRecord],
) -> Result<Revoked, GroupFileError> {
    let chain = check_chain(records, genesis, epochs);
    let revoked = Revoked::of(epochs);
    let steps = check_steps_per_segment(epochs);
    let broken = [chain.err(), revoked.as_ref().err().copied(), steps.err()];
    // Of one record, the first in this order.
    match broken.into_iter().flatten().min_by_key(|error| error.part) {
        Some(error) => Err(error),
        None => revoked,
    }
}

/// That records count up, each names the one before, and none is made or starts too early.
fn check_chain(
    records: &[Part<'_>],
    genesis: &Genesis,
    epochs: &[EpochRecord],
) -> Result<(), GroupFileError> {
    let (mut previous, mut made_before) = (body_hash(records[0].body), genesis.created);
    for (number, (record, epoch)) in (1..).zip(records[1..].iter().zip(epochs)) {
        if number > MAX_EPOCHS {
            return Err(at(number, Rule::TooManyEpochs));
        }
        if epoch.epoch as usize != number {
            return Err(at(number, Rule::Epoch));
        }
        if epoch.previous.0 != previous {
            return Err(at(number, Rule::Chain));
        }
        if epoch.made < made_before || epoch.start < epoch.made {
            return Err(at(number, Rule::Start));
        }
        (previous, made_before) = (body_hash(record.body), epoch.made);
    }
    Ok(())
}

/// Rule `checkpoint`: each size of the register adds to the one before.
fn check_growth(
    first: usize,
    checkpoints: &[Checkpoint],
    head: &RegisterHead,
) -> Result<(), GroupFileError> {
    let mut before = None;
    for (part, checkpoint) in (first..).zip(checkpoints) {
        if !checkpoint.follows(before) {
            return Err(at(part, Rule::Checkpoint));
        }
        before = Some(checkpoint);
    }
    match head.follows(before) {
        true => Ok(()),
        false => Err(at(first + checkpoints.len(), Rule::Checkpoint)),
    }
}

fn first_key(genesis: &Genesis) -> Option<PublicKey> {
    let founded = PublicKey::founded(genesis.scheme, &genesis.nonce, &genesis.founding[..]);
    let key = founded.ok()?;
    if let PublicKey::Xr(xr) = &key {
        let proof = Proof::from_bytes(genesis.issuer_proof.as_ref()?).ok()?;
        xr.check_genesis(&genesis.nonce, &proof).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::{Change, Origin, SharingRecord};
    use clew_group::quorum::Quorum;
    use clew_group::{EpochId, Scheme};

    fn some_genesis() -> Genesis {
        Genesis {
            scheme: Scheme::Bbs04,
            created: 5,
            nonce: [0; 32],
            manager: [0; 32],
            name: "acme".parse().unwrap(),
            founding: Box::new([0; 192]),
            issuer_proof: None,
            sharing: SharingRecord {
                origin: Origin::Dealt,
                quorum: Quorum::new(1, 1).unwrap(),
                commitments: vec![],
            },
        }
    }

    /// Without signatures, which would take a minute.
    #[test]
    fn too_many_epochs() {
        let genesis = some_genesis();
        let mut bodies = vec![genesis.encode()];
        let mut epochs = Vec::new();
        for epoch in 1..=MAX_EPOCHS as u32 + 1 {
            let record = EpochRecord {
                epoch,
                previous: EpochId(body_hash(&bodies[bodies.len() - 1])),
                made: 5,
                start: 5,
                change: Change::Rebase { revoked: vec![] },
            };
            bodies.push(record.encode());
            epochs.push(record);
        }
        let signature = [0; 64];
        let parts: Vec<Part<'_>> = bodies.iter().map(|b| Part { body: b, signature }).collect();
        assert!(check_chain(&parts[..=MAX_EPOCHS], &genesis, &epochs[..MAX_EPOCHS]).is_ok());
        assert_eq!(
            check_chain(&parts, &genesis, &epochs),
            Err(at(MAX_EPOCHS + 1, Rule::TooManyEpochs))
        );
    }
}
