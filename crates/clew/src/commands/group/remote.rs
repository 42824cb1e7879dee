//! `clew enrol --manager`: a device's whole join over the network.
//!
//! The pending state stands beside the key (`NAME.key.joining`), and is on disk before what it belongs
//! to leaves: whenever the command is killed, it goes on where it was.

use super::logged::Logged;
use crate::cli::Enrol;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::random;
use crate::secrets;
use clew_evidence::{CheckedGroup, DeviceFingerprint, GroupFile, GroupId, Name};
use clew_group::Witness;
use clew_keys::encryption::Secret;
use clew_keys::files::{IfExists, directory, sync_directory};
use clew_keys::join::{FactoryFile, InvitationFile, JoinFault, Joining};
use clew_keys::update::{UpdateError, Updated, Witnesses, update};
use clew_keys::witness_file::Need;
use clew_keys::{MemberKeyFile, TextFile};
use clew_service::http::{ClientError, ServiceUrl};
use clew_service::manager::ManagerClient;
use std::fs;
use std::path::{Path, PathBuf};

pub fn enrol(arguments: &Enrol, url: &ServiceUrl) -> Result<Status, Failure> {
    let output = arguments.output.as_ref();
    let output = output.ok_or_else(|| Failure::new("need -o for the key"))?;
    secrets::check_named(output)?;
    let invited = Invited::read(arguments)?;
    let mut join = Join {
        arguments,
        state: state_beside(output),
        output,
        client: client(url)?,
        invited,
        logged: Logged::beside(output, &arguments.witnesses)?,
    };
    let _lock = secrets::lock(&join.state)?;
    crate::tunnel::run_or_stop(join.run())
}

/// A client of a manager.
pub(super) fn client(url: &ServiceUrl) -> Result<ManagerClient, Failure> {
    ManagerClient::new(url).map_err(|error| unanswered(&error))
}

/// Where the pending state of a key is.
fn state_beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".joining");
    name.into()
}

/// By what the device is invited.
enum Invited {
    By(InvitationFile),
    Within(FactoryFile, Name),
}

impl Invited {
    fn read(arguments: &Enrol) -> Result<Self, Failure> {
        let unlock = &arguments.unlock;
        match (&arguments.invitation, &arguments.batch, &arguments.dir) {
            (Some(file), _, _) => unlock.load(file, InvitationFile::decode).map(Self::By),
            (None, Some(file), Some(name)) => {
                let name = name.to_str().unwrap_or_default();
                let name = name
                    .parse()
                    .map_err(|error| Failure::new(format!("{name}: {error}")))?;
                Ok(Self::Within(unlock.load(file, FactoryFile::decode)?, name))
            }
            _ => Err(Failure::new("need --invitation, or --batch and a name")),
        }
    }

    fn group(&self) -> GroupId {
        match self {
            Self::By(invitation) => invitation.group,
            Self::Within(factory, _) => factory.group,
        }
    }

    fn name(&self) -> &Name {
        match self {
            Self::By(invitation) => &invitation.name,
            Self::Within(_, name) => name,
        }
    }

    /// Whether a join that was begun answers this.
    fn is_of(&self, invitation: &InvitationFile) -> bool {
        match self {
            Self::By(own) => own == invitation,
            Self::Within(factory, name) => {
                invitation.group == factory.group
                    && invitation.nonce == factory.claim(name).nonce
                    && invitation.name == *name
            }
        }
    }
}

/// One join over the network.
struct Join<'a> {
    arguments: &'a Enrol,
    output: &'a Path,
    state: PathBuf,
    client: ManagerClient,
    invited: Invited,
    logged: Logged,
}

impl Join<'_> {
    async fn run(&mut self) -> Result<Status, Failure> {
        let group = self.group().await?;
        let is_begun = self.state.symlink_metadata().is_ok();
        if !is_begun && self.output.symlink_metadata().is_ok() {
            return self.finished(&group);
        }
        let (mut joining, secret) = self.begun(&group).await?;
        let key = match self.joined(&mut joining, secret.as_ref(), &group).await {
            // A factory's machine may begin again: nobody else was invited under its name.
            Err(ended) if ended.is_expired && matches!(self.invited, Invited::Within(..)) => {
                self.remove_state()?;
                let (mut joining, secret) = self.begun(&group).await?;
                let again = self.joined(&mut joining, secret.as_ref(), &group).await;
                again.map_err(|ended| ended.failure)?
            }
            Err(ended) => {
                if ended.is_others && !is_begun {
                    // The manager never took it.
                    self.remove_state()?;
                }
                return Err(ended.failure);
            }
            Ok(key) => key,
        };
        secrets::write_key(self.output, &key, secret.as_ref())?;
        self.remove_state()?;
        let (machine, row) = (&key.machine, key.index);
        say!("{machine} joined, row {row}: {}", self.output.display());
        if let Some(device) = &key.device {
            let fingerprint = DeviceFingerprint::of(&device.verifying_key().to_bytes());
            say!("  device key   {fingerprint}");
        }
        Ok(Status::Yes)
    }

    /// The end of a join whose key is there already: the command was run once more.
    fn finished(&self, group: &CheckedGroup) -> Result<Status, Failure> {
        let other = || {
            Failure::file(self.output, "already exists")
                .hint("use another name: a key is never overwritten")
        };
        let key = self
            .arguments
            .unlock
            .load(self.output, MemberKeyFile::decode);
        let key = key.map_err(|_| other())?;
        if key.group != group.id() || key.machine != *self.invited.name() {
            return Err(other());
        }
        // Whether it is in force: a machine that was revoked is invited again under the same name.
        let updated = update(&key, group, clock::now_ns(), &mut NoWitnesses);
        match updated {
            Ok(Updated { revoked: None, .. }) | Err(UpdateError::NeedsWitness(_)) => {
                say!("{} has joined: {}", key.machine, self.output.display());
                Ok(Status::Yes)
            }
            Ok(_) | Err(UpdateError::Revoked { .. }) => {
                let why = "is the key of this machine before it was revoked";
                Err(Failure::file(self.output, why).hint("use another name with -o"))
            }
            Err(error) => Err(Failure::file(self.output, error)),
        }
    }

    /// Fetches the group file: it has to be that of the invitation, and is checked like any other.
    async fn group(&self) -> Result<CheckedGroup, Failure> {
        let bytes = self
            .client
            .group()
            .await
            .map_err(|error| unanswered(&error))?;
        let of_manager = |error: &dyn std::fmt::Display| {
            Failure::new(format!("the manager's group file: {error}"))
        };
        let group = GroupFile::from_bytes(&bytes).map_err(|error| of_manager(&error))?;
        if group.id() != self.invited.group() {
            let (found, wanted) = (group.id(), self.invited.group());
            let why = format!("it is of group {found}, and the invitation of group {wanted}");
            return Err(of_manager(&why).no());
        }
        let accepted = self.logged.check(&self.client, &group).await;
        accepted.map_err(|refused| refused.failure)?;
        let checked = group.check_epochs(&mut random::os());
        checked.map_err(|error| of_manager(&error))
    }

    /// The join that was begun before, or a new one.
    async fn begun(&self, group: &CheckedGroup) -> Result<(Joining, Option<Secret>), Failure> {
        if self.state.symlink_metadata().is_ok() {
            let (unlock, seal) = (&self.arguments.unlock, &self.arguments.seal);
            let (text, secret) = unlock.read_own(&self.state, seal)?;
            let joining = Joining::decode(&text);
            let joining = joining.map_err(|error| Failure::file(&self.state, error))?;
            return match self.invited.is_of(joining.invitation()) {
                true => Ok((joining, secret)),
                false => Err(Failure::file(&self.state, "belongs to another join")
                    .hint("use another name with -o")),
            };
        }
        let invitation = match &self.invited {
            Invited::By(invitation) => invitation.clone(),
            Invited::Within(factory, name) => {
                let claimed = self.client.claim(&factory.claim(name)).await;
                let invitation = claimed.map_err(|error| unanswered(&error))?;
                if !self.invited.is_of(&invitation) {
                    return Err(Failure::new("the manager invited another machine").no());
                }
                invitation
            }
        };
        let joining = Joining::begin(invitation, group, &mut random::os());
        let joining = joining.map_err(|fault| Failure::new(fault).no())?;
        let secret = self.arguments.seal.secret()?;
        self.keep(&joining, secret.as_ref(), IfExists::Refuse)?;
        Ok((joining, secret))
    }

    /// The rounds that are left.
    async fn joined(
        &self,
        joining: &mut Joining,
        secret: Option<&Secret>,
        group: &CheckedGroup,
    ) -> Result<MemberKeyFile, Ended> {
        let offer = self.client.offer(joining.request()).await?;
        let acceptance = match joining.accept(&offer, group, &mut random::os()) {
            Err(JoinFault::NoSuchEpoch { .. }) => {
                let group = self.group().await?; // an epoch began since
                joining.accept(&offer, &group, &mut random::os())
            }
            accepted => accepted,
        };
        let acceptance = acceptance.map_err(|fault| Failure::new(fault).no())?;
        self.keep(joining, secret, IfExists::Replace)?;
        let credential = self.client.admit(&acceptance).await?;
        let key = match joining.finish(&credential, group) {
            Err(JoinFault::NoSuchEpoch { .. }) => joining.finish(&credential, &self.group().await?),
            finished => finished,
        };
        Ok(key.map_err(|fault| Failure::new(fault).no())?)
    }

    /// Writes and syncs the state, before what it belongs to leaves.
    fn keep(
        &self,
        joining: &Joining,
        secret: Option<&Secret>,
        if_exists: IfExists,
    ) -> Result<(), Failure> {
        let (text, comment) = (joining.encode(), joining.comment());
        secrets::write(&self.state, &text, &comment, secret, if_exists)
    }

    fn remove_state(&self) -> Result<(), Failure> {
        let folder = directory(&self.state);
        fs::remove_file(&self.state)
            .and_then(|()| sync_directory(folder))
            .map_err(|error| Failure::io(&self.state, &error))
    }
}

/// Why a join did not come to its end.
struct Ended {
    failure: Failure,
    /// An epoch began between offer and acceptance.
    is_expired: bool,
    /// Another request answered the invitation.
    is_others: bool,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            is_expired: false,
            is_others: false,
        }
    }
}

impl From<ClientError> for Ended {
    fn from(error: ClientError) -> Self {
        let is_expired = rule(&error) == Some("offer-expired");
        Self {
            failure: unanswered(&error),
            is_expired,
            is_others: rule(&error) == Some("other-request"),
        }
    }
}

/// The rule by which a service refused.
fn rule(error: &ClientError) -> Option<&str> {
    match error {
        ClientError::Refused { problem, .. } => Some(&problem.title),
        _ => None,
    }
}

/// What helps if a URL lacks its pin.
pub const NEEDS_PIN: &str =
    "use the whole URL that the service prints: the part behind # names its key";

/// Whether a service has a certificate that nobody signed whom this host knows, and the URL has no pin.
pub fn lacks_pin(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { url, reason } => {
            !url.contains('#') && reason.contains("invalid peer certificate")
        }
        _ => false,
    }
}

/// No witnesses: what a key needs them for is left for later.
struct NoWitnesses;

impl Witnesses for NoWitnesses {
    fn find(&mut self, _: &Need) -> Option<Witness> {
        None
    }
}

/// What a service did not answer, and what helps.
pub fn unanswered(error: &ClientError) -> Failure {
    let failure = Failure::new(error);
    match (error, rule(error)) {
        (ClientError::Pin(_), _) => {
            failure.hint("compare the URL with the one that clew manager serve prints")
        }
        (ClientError::Unreachable { .. }, _) if lacks_pin(error) => failure.hint(NEEDS_PIN),
        (ClientError::Unreachable { .. } | ClientError::Timeout(_), _) => {
            failure.hint("run the command again: it goes on where it was")
        }
        (_, Some("other-request")) => failure.no().hint(
            "if the machine has joined, use the key of that join, or clew revoke DIR MACHINE; else run \
             clew enrol DIR MACHINE --withdraw and --invite again on the manager's host",
        ),
        (_, Some("offer-expired")) => failure.no().hint(
            "on the manager's host run clew enrol DIR MACHINE --withdraw and --invite again; join \
             with another -o",
        ),
        (_, Some("busy" | "store" | "too-slow")) => failure.hint("run the command again"),
        (_, Some("clock" | "halted")) => failure.hint("ask the manager's operator"),
        (_, Some("path" | "origin")) => {
            failure.hint("this is another service: use the URL that clew manager serve prints")
        }
        (ClientError::Refused { .. }, _) => failure.no(),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_its_pin_is_named() {
        let unreachable = |url: &str, reason: &str| {
            let (url, reason) = (url.to_owned(), reason.to_owned());
            unanswered(&ClientError::Unreachable { url, reason }).hint
        };
        let unknown = "invalid peer certificate: UnknownIssuer";
        let bare = "https://127.0.0.1:4910/";
        assert_eq!(unreachable(bare, unknown).as_deref(), Some(NEEDS_PIN));
        let pinned = format!("{bare}#SHA256:x");
        for (url, reason) in [(bare, "connection refused"), (&*pinned, unknown)] {
            let hint = unreachable(url, reason).unwrap();
            assert!(hint.contains("run the command again"), "{hint}");
        }
    }
}
