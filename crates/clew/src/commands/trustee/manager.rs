//! `clew trustee set-manager`: the manager has another address.

use super::home::{Home, put};
use crate::cli::TrusteeSetManager;
use crate::commands::group::unanswered;
use crate::failure::{Failure, Status};
use clew_evidence::GroupFile;
use clew_service::manager::ManagerClient;

pub fn set(arguments: &TrusteeSetManager) -> Result<Status, Failure> {
    let home = Home::open(&arguments.dir)?;
    let (url, known) = (&arguments.url, home.group()?);
    let client = ManagerClient::new(url).map_err(|error| unanswered(&error))?;
    let bytes = crate::tunnel::run_or_stop(async {
        client.group().await.map_err(|error| unanswered(&error))
    })?;
    let there = GroupFile::from_bytes(&bytes);
    let there = there.map_err(|error| Failure::new(format!("{url}: {error}")).no())?;
    if there.id() != known.id() {
        return Err(Failure::new(format!("{url}: the manager of another group")).no());
    }
    if there.epoch_id(known.newest_epoch()) != Some(known.last_id()) {
        let what = "has not the newest epoch that this trustee knows, or another history";
        return Err(Failure::new(format!("{url}: {what}"))
            .hint("compare epoch ids with other trustees by voice")
            .no());
    }
    put(&home.path("manager.url"), format!("{url}\n").as_bytes())?;
    say!("manager      {url}");
    say!("Start clew trustee serve again, if it runs.");
    Ok(Status::Yes)
}
