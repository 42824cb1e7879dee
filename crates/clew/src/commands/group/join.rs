//! `clew join`: the device's side.

use super::enrol::write;
use crate::cli::Join;
use crate::failure::{Failure, Status};
use crate::groups::read_checked;
use crate::random;
use crate::secrets;
use clew_evidence::{CheckedGroup, DeviceFingerprint};
use clew_keys::TextFile;
use clew_keys::encryption::Secret;
use clew_keys::files::{IfExists, directory, sync_directory};
use clew_keys::join::{
    CredentialFile, InvitationFile, JoinFault, Joining, OfferFile, Round, round,
};
use std::fs;
use std::path::Path;

pub fn join(arguments: &Join) -> Result<Status, Failure> {
    let file = &arguments.file;
    let (text, _) = arguments.unlock.read_unwarned(file)?;
    let group = read_checked(&arguments.group)?;
    let _lock = secrets::lock(&arguments.state)?;
    let failed = |error| Failure::file(file, error);
    match round(&text).map_err(failed)? {
        Some(Round::Invitation) => {
            let invitation = InvitationFile::decode(&text).map_err(failed)?;
            request(arguments, invitation, &group)?;
        }
        Some(Round::Offer) => accept(
            arguments,
            &OfferFile::decode(&text).map_err(failed)?,
            &group,
        )?,
        Some(Round::Credential) => finish(
            arguments,
            &CredentialFile::decode(&text).map_err(failed)?,
            &group,
        )?,
        Some(Round::Request | Round::Acceptance) => {
            return Err(
                Failure::file(file, "this file is for the issuer").hint(format!(
                    "clew enrol DIR --answer {} -o FILE",
                    file.display()
                )),
            );
        }
        None => {
            return Err(Failure::file(file, "not a file of a join")
                .hint("use the issuer's invitation, offer or credential"));
        }
    }
    Ok(Status::Yes)
}

/// The device's state, with what it is encrypted with.
struct State {
    joining: Joining,
    secret: Option<Secret>,
}

impl State {
    fn read(arguments: &Join) -> Result<Self, Failure> {
        let path = &arguments.state;
        if path.symlink_metadata().is_err() {
            return Err(Failure::file(path, "does not exist")
                .hint("use the --state of this join. It is removed when the join is finished"));
        }
        let (text, secret) = arguments.unlock.read_own(path, &arguments.seal)?;
        let joining = Joining::decode(&text).map_err(|error| Failure::file(path, error))?;
        Ok(Self { joining, secret })
    }

    /// Writes and syncs the state, before what it belongs to leaves.
    fn keep(&self, path: &Path, if_exists: IfExists) -> Result<(), Failure> {
        let (text, comment) = (self.joining.encode(), self.joining.comment());
        secrets::write(path, &text, &comment, self.secret.as_ref(), if_exists)
    }
}

fn request(
    arguments: &Join,
    invitation: InvitationFile,
    group: &CheckedGroup,
) -> Result<(), Failure> {
    let state = match arguments.state.symlink_metadata() {
        Ok(_) => resumed(arguments, &invitation)?,
        Err(_) => begun(arguments, invitation, group)?,
    };
    let request = state.joining.request();
    write(&arguments.out.output, request)?;
    let (name, output) = (&state.joining.invitation().name, &arguments.out.output);
    say!(
        "{name} asks to join: send {} to the issuer",
        output.display()
    );
    say!("  device key   {}", DeviceFingerprint::of(&request.device));
    Ok(())
}

fn begun(
    arguments: &Join,
    invitation: InvitationFile,
    group: &CheckedGroup,
) -> Result<State, Failure> {
    let joining = Joining::begin(invitation, group, &mut random::os());
    let state = State {
        joining: joining.map_err(|fault| refused(arguments, &fault))?,
        secret: arguments.seal.secret()?,
    };
    let kept = state.keep(&arguments.state, IfExists::Refuse);
    kept.map_err(|failure| match arguments.state.symlink_metadata() {
        Ok(_) => Failure::file(
            &arguments.state,
            "another run of this join is in progress or finished",
        )
        .hint("run the command again"),
        Err(_) => failure,
    })?;
    Ok(state)
}

fn resumed(arguments: &Join, invitation: &InvitationFile) -> Result<State, Failure> {
    let state = State::read(arguments)?;
    if state.joining.invitation() == invitation {
        return Ok(state);
    }
    Err(Failure::file(&arguments.state, "belongs to another join").hint("use another --state"))
}

fn accept(arguments: &Join, offer: &OfferFile, group: &CheckedGroup) -> Result<(), Failure> {
    let mut state = State::read(arguments)?;
    let acceptance = state.joining.accept(offer, group, &mut random::os());
    let acceptance = acceptance.map_err(|fault| refused(arguments, &fault))?;
    state.keep(&arguments.state, IfExists::Replace)?;
    write(&arguments.out.output, &acceptance)?;
    let (name, output) = (&state.joining.invitation().name, &arguments.out.output);
    say!("{name} accepts: send {} to the issuer", output.display());
    if let Some(row) = offer.replaces {
        say!("  replaces     row {row} of the same name, which was revoked");
    }
    Ok(())
}

fn finish(
    arguments: &Join,
    credential: &CredentialFile,
    group: &CheckedGroup,
) -> Result<(), Failure> {
    let state = State::read(arguments)?;
    let key = state.joining.finish(credential, group);
    let key = key.map_err(|fault| refused(arguments, &fault))?;
    let secret = match state.secret {
        None => arguments.seal.secret()?,
        secret => secret,
    };
    secrets::write_key(&arguments.out.output, &key, secret.as_ref())?;
    let (state, folder) = (&arguments.state, directory(&arguments.state));
    fs::remove_file(state)
        .and_then(|()| sync_directory(folder))
        .map_err(|error| Failure::io(state, &error))?;
    let (machine, row) = (&key.machine, key.index);
    say!(
        "{machine} joined, row {row}: {}",
        arguments.out.output.display()
    );
    Ok(())
}

fn refused(arguments: &Join, fault: &JoinFault) -> Failure {
    let failure = Failure::file(&arguments.file, fault);
    match fault {
        JoinFault::NoSuchEpoch { .. } => failure.hint("get the newest group file"),
        JoinFault::NoOffer => failure.hint("use the issuer's offer first"),
        JoinFault::OtherJoin => failure.hint("use the --state of that join"),
        JoinFault::Join(_) => failure.hint(
            "use the --state whose request the issuer answered. If it is that one, the offer is \
             invalid",
        ),
        _ => failure,
    }
}
