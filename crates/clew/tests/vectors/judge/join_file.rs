//! Vectors of the files of a join, and of witness buckets, as those check them who read them.

use clew_evidence::{CheckedGroup, EntryKey, GroupId, KeyOrigin, RegisterEntry, join_session};
use clew_group::PublicKey;
use clew_group::curve::Scalar;
use clew_group::xr;
use clew_keys::TextFile;
use clew_keys::join::{AcceptanceFile, CredentialFile, InvitationFile, Joining, OfferFile, RequestFile};
use clew_keys::witness_file::{self, Need};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::fixed::Fixed;
use super::opening::group_file;
use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case, wanted: &str) -> Result<(), Stop> {
    match wanted {
        InvitationFile::LABEL => invitation(case, &read(case)?),
        RequestFile::LABEL => request(case, &read(case)?),
        OfferFile::LABEL => offer(case, &read(case)?),
        AcceptanceFile::LABEL => acceptance(case, &read(case)?),
        CredentialFile::LABEL => credential(case, &read(case)?),
        "clew-witness-1" => bucket(case),
        _ => Err(Stop::Wrong("no such key file".to_owned())),
    }
}

/// The file of the case, which is written as it was read.
fn read<T: TextFile>(case: &Case) -> Result<T, Stop> {
    let text = case.joined("line")?;
    let file = T::decode(&text)?;
    let same = case.expect != "valid" || *file.encode() == text;
    holds(same, "the same text again")?;
    Ok(file)
}

/// What the device has so far.
fn joining(case: &Case) -> Result<Joining, Stop> {
    let text = case.joined("joining-line")?;
    let joining = Joining::decode(&text)?;
    holds(*joining.encode() == text, "the same state again")?;
    Ok(joining)
}

fn genesis(group: &CheckedGroup) -> Result<&xr::PublicKey, Stop> {
    match group.first_public_key() {
        PublicKey::Xr(key) => Ok(key),
        PublicKey::Bbs04(_) => Err(Stop::Wrong("a group of bbs04".to_owned())),
    }
}

fn invitation(case: &Case, file: &InvitationFile) -> Result<(), Stop> {
    let group = group_file(case)?;
    Joining::begin(file.clone(), &group, &mut ChaCha20Rng::seed_from_u64(2))?;
    case.check("group", file.group.0)?;
    case.check("nonce", file.nonce)?;
    case.check("machine", file.name.as_str())?;
    case.check("signature", file.signature)
}

fn request(case: &Case, file: &RequestFile) -> Result<(), Stop> {
    let group = group_file(case)?;
    let name = case.word("machine")?.parse();
    let name = name.map_err(|_| Stop::Wrong("no name".to_owned()))?;
    let session = join_session(group.id(), &file.nonce, &file.device, &name);
    // Any issuer checks the same.
    let [gamma, x, s] = [7, 8, 9].map(Scalar::from_u128);
    let issuer = xr::IssuerKey::from_bytes(&gamma.to_bytes())?;
    let offer = issuer.offer(genesis(&group)?, &session, &file.request, &x, &s);
    offer.map_err(|_| Stop::Rule("join"))?;
    case.check("nonce", file.nonce)?;
    case.check("device-key", file.device)?;
    case.check("request", file.request.to_bytes())?;
    case.check("session", session)
}

fn offer(case: &Case, file: &OfferFile) -> Result<(), Stop> {
    let (group, mut joining) = (group_file(case)?, joining(case)?);
    // k of the proof of y is drawn once, and not again for the same offer.
    let k = case.all("k").into_iter().map(Scalar::from_bytes);
    let mut rng = Fixed::new(k.collect::<Result<Vec<_>, _>>()?);
    let answer = joining.accept(file, &group, &mut rng)?;
    let again = joining.accept(file, &group, &mut rng)?;
    holds(answer == again, "the same answer to the same offer")?;
    case.check("nonce", file.nonce)?;
    case.check("joined", file.joined.to_be_bytes())?;
    case.check("epoch-id", file.id)?;
    case.check("how", [file.how.code()])?;
    let replaces = file.replaces.unwrap_or(u32::MAX);
    case.check("replaces", replaces.to_be_bytes())?;
    case.check("offer", file.offer.to_bytes())?;
    holds(file.how == KeyOrigin::OwnHost, "from its own host")?;
    let text = case.joined("acceptance-line")?;
    holds(*answer.encode() == text, "the device's answer")
}

/// What the issuer checks: S and the proof in the entry that it made.
fn acceptance(case: &Case, file: &AcceptanceFile) -> Result<(), Stop> {
    let group = group_file(case)?;
    let entry = RegisterEntry::decode(case.bytes("entry")?);
    let mut entry = entry.ok_or(Stop::Wrong("no entry".to_owned()))?;
    if let EntryKey::Xr(device) = &mut entry.key {
        device.signature = file.signature;
        device.proof = file.proof.to_bytes();
    }
    let vouched = entry.check_device(&group);
    vouched.map_err(|_| Stop::Rule("device"))?;
    case.check("entry", entry.encode())?;
    case.check("nonce", file.nonce)?;
    case.check("signature", file.signature)?;
    case.check("proof", file.proof.to_bytes())
}

fn credential(case: &Case, file: &CredentialFile) -> Result<(), Stop> {
    let (group, joining) = (group_file(case)?, joining(case)?);
    let key = joining.finish(file, &group)?;
    case.check("nonce", file.nonce)?;
    case.check("index", file.index.to_be_bytes())?;
    let epochs = file.witnesses.iter().map(|(epoch, _)| epoch.to_be_bytes());
    check_all(case, "epoch", epochs)?;
    let witnesses = file.witnesses.iter().map(|(_, w)| w.to_bytes().to_vec());
    check_all(case, "witness", witnesses)?;
    let text = case.joined("key-line")?;
    holds(*key.encode() == text, "the device's key file")
}

fn bucket(case: &Case) -> Result<(), Stop> {
    let need = Need { group: GroupId(case.array("group")?), epoch: case.u32("epoch")?, index: case.u32("index")? };
    let found = witness_file::find(case.bytes("file")?, &need);
    let witness = found.map_err(|fault| Stop::Rule(fault.as_str()))?;
    case.check("witness", witness.to_bytes().as_slice())
}
