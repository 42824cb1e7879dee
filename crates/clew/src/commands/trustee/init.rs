//! `clew trustee init`: makes a trustee's directory.

use super::home::{Home, Identity, put};
use crate::cli::TrusteeInit;
use crate::commands::group::unanswered;
use crate::commands::manager::fingerprint;
use crate::failure::{Failure, Status};
use crate::random;
use crate::secrets;
use clew_evidence::GroupFile;
use clew_keys::files::MODE_PUBLIC;
use clew_keys::{Author, AuthorKeyFile, TextFile, TrusteeKeyFile};
use clew_service::manager::ManagerClient;
use clew_trustee::policy::Policy;
use rand_core::Rng;
use std::path::PathBuf;
use zeroize::Zeroizing;

const POLICY: &str = "\
# Whose warrants this trustee accepts, and which witnesses it believes: see the book's page on warrants.
# As long as no issuer stands here, every request waits. Write:
#   issuers    the line of each court's public key that begins with clew-author-1: from COURT.pub
#   witnesses  the verifier key of each witness of the group's log, from whoever runs it
# Do not take them from the manager: it must not choose who allows openings.
# issuers = [\"clew-author-1 ...\"]
# witnesses = [\"example.com/w1+...+...\"]
# More than half of the witnesses have to cosign, not longer ago than an hour:
# threshold = 1
# max-age = \"1h\"
";

pub fn run(arguments: &TrusteeInit) -> Result<Status, Failure> {
    let (url, policy) = (&arguments.manager, policy(arguments)?);
    let client = ManagerClient::new(url).map_err(|error| unanswered(&error))?;
    let bytes = crate::tunnel::run_or_stop(async {
        client.group().await.map_err(|error| unanswered(&error))
    })?;
    let group = GroupFile::from_bytes(&bytes);
    let group = group.map_err(|error| Failure::new(format!("{url}: {error}")).no())?;
    let home = Home::make(&arguments.dir)?;
    let identity = identity(arguments, &home)?;
    if let Some(path) = &arguments.key {
        let key = arguments.unlock.load(path, TrusteeKeyFile::decode)?;
        if key.group != group.id() {
            return Err(Failure::file(path, "a key of another group"));
        }
        secrets::write_key(&home.key_path(key.since), &key, identity.secret.as_ref())?;
    }
    let public = identity.key.public();
    let path = home.path("author.pub");
    secrets::write_same(&path, &public.encode(), MODE_PUBLIC)?;
    if !home.path("policy.toml").exists() {
        put(&home.path("policy.toml"), policy.as_bytes())?;
    }
    put(&home.path("group.clew"), &bytes)?;
    if let Some(log) = &arguments.log_url {
        put(&home.path("log.url"), format!("{log}\n").as_bytes())?;
    }
    put(&home.path("manager.url"), format!("{url}\n").as_bytes())?; // last: now it is one
    say!("group        {} {}", group.genesis().name, group.id());
    say!("fingerprint  {}  ({})", fingerprint(&public), public.name);
    say!("Compare both with the manager by voice. Then the manager admits this trustee:");
    say!(
        "  clew manager admit DIR --role trustee --index I --name {} --key {}",
        public.name,
        path.display()
    );
    if arguments.issuer.is_empty() {
        say!("This trustee answers no request before you write courts and witnesses into");
        say!("  {}", home.path("policy.toml").display());
    }
    Ok(Status::Yes)
}

/// The policy with the courts and witnesses that were named, or one that answers nobody.
fn policy(arguments: &TrusteeInit) -> Result<String, Failure> {
    if arguments.issuer.is_empty() {
        return Ok(POLICY.to_owned());
    }
    let line = |path: &PathBuf| {
        let issuer: Author = secrets::read(path)?;
        let text = issuer.encode();
        let mut lines = text.lines();
        let line = lines.find(|line| !line.starts_with('#'));
        Ok(format!("{:?}", line.unwrap_or_default()))
    };
    let issuers: Result<Vec<String>, Failure> = arguments.issuer.iter().map(line).collect();
    let witnesses = arguments.witness.iter().map(|key| format!("\"{key}\""));
    let (issuers, witnesses) = (
        issuers?.join(", "),
        witnesses.collect::<Vec<_>>().join(", "),
    );
    let text = format!("issuers = [{issuers}]\nwitnesses = [{witnesses}]\n");
    match Policy::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::new(error).hint("use --issuer COURT.pub --witness VKEY")),
    }
}

/// The author key: a new one, or that of a run that was killed.
fn identity(arguments: &TrusteeInit, home: &Home) -> Result<Identity, Failure> {
    let path = home.path("author.key");
    let secret = arguments.seal.secret()?;
    if path.exists() {
        return home.identity(&arguments.unlock);
    }
    let mut seed = Zeroizing::new([0; 32]);
    random::os().fill_bytes(seed.as_mut_slice());
    let key = AuthorKeyFile::new(seed, arguments.name.clone());
    secrets::write_key(&path, &key, secret.as_ref())?;
    Ok(Identity { key, secret })
}
