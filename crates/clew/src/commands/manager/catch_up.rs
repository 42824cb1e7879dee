//! `clew manager catch-up`: a restored store takes over what was published since its backup.

use crate::cli::ManagerCatchUp;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_evidence::{GroupFile, GroupLog};
use clew_log::Checkpoint;
use clew_log::entry::Logged;
use clew_log::tree::{self, Frontier};
use clew_manager::{GROUP_FILE, ISSUER_KEY, LOG_URL, LoggedBody, Store};
use clew_service::http::ServiceUrl;
use clew_service::log::LogClient;

pub fn run(arguments: &ManagerCatchUp) -> Result<Status, Failure> {
    let dir = &arguments.dir;
    let path = dir.join(GROUP_FILE);
    let published = std::fs::read(&path).map_err(|error| Failure::io(&path, &error))?;
    let group = GroupFile::from_bytes(&published).map_err(|error| Failure::file(&path, error))?;
    let issuer = arguments.unlock.issuer_at(&dir.join(ISSUER_KEY))?;
    let log = group.newest_log();
    let logged = match log {
        Some(log) => Some(logged(arguments, &group, log)?),
        None => None,
    };
    let (_, caught_up) = Store::catch_up(dir, &issuer, &published, logged.as_deref())?;
    say!("epochs taken over  {}", caught_up.epochs);
    for name in &caught_up.revoked {
        say!("revoked            {name}");
    }
    if caught_up.lost > 0 {
        say!(
            "lost               {} machines: nobody can name them",
            caught_up.lost
        );
    }
    if caught_up.dropped > 0 {
        say!(
            "dropped            {} rows that nothing binds",
            caught_up.dropped
        );
    }
    if caught_up.lost + caught_up.dropped > 0 {
        say!(
            "Next: enrol these machines again, then lock their old keys out: clew group rebase DIR"
        );
    }
    Ok(Status::Yes)
}

/// The manager's entries in the group's log, which lead to a checkpoint that the log signed.
fn logged(
    arguments: &ManagerCatchUp,
    group: &GroupFile,
    named: &GroupLog,
) -> Result<Vec<LoggedBody>, Failure> {
    let url = match &arguments.log_url {
        Some(url) => url.clone(),
        None => set_url(arguments)?,
    };
    let log = LogClient::new(&url).map_err(Failure::new)?;
    crate::tunnel::run_or_stop(async {
        let note = log.checkpoint().await.map_err(Failure::new)?;
        let other = || Failure::new(format!("{url}: not the group's log"));
        note.signature(named.key()).map_err(|_| other())?;
        let stated = Checkpoint::parse(note.text()).map_err(|_| other())?;
        let (mut leaves, mut bodies) = (Frontier::EMPTY, Vec::new());
        while leaves.entries() < stated.size {
            let place = leaves.entries();
            let entries = log
                .entries(place, stated.size)
                .await
                .map_err(Failure::new)?;
            if entries.is_empty() {
                return Err(other());
            }
            for (place, bytes) in (place..).zip(entries) {
                leaves.push(tree::leaf(&bytes)).ok_or_else(other)?;
                let entry = Logged::decode(&bytes).ok_or_else(other)?.entry;
                if entry.author == group.genesis().manager {
                    bodies.push((place, entry.body.kind(), entry.body.encode()));
                }
            }
        }
        match leaves.root() == stated.root {
            true => Ok(bodies),
            false => {
                Err(Failure::new(format!("{url}: entries do not lead to the checkpoint")).no())
            }
        }
    })
}

fn set_url(arguments: &ManagerCatchUp) -> Result<ServiceUrl, Failure> {
    let path = arguments.dir.join(LOG_URL);
    if !path.exists() {
        let failure = Failure::file(
            &arguments.dir,
            "the group has a log, whose address is not known",
        );
        return Err(failure.hint("use --log-url"));
    }
    let url = secrets::read_text(&path)?.trim().parse();
    url.map_err(|error| Failure::file(&path, error))
}
