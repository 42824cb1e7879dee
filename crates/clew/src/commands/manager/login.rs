//! `clew manager login`: a link that logs in to the manager's pages.

use crate::cli::ManagerLogin;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_keys::{AuthorKeyFile, TextFile};
use clew_manager::{SERVICE_TLS, Store};
use clew_service::http::{Certificate, Client, ServiceUrl};
use clew_service::pages::link;
use std::path::Path;

const START: &str = "start the service with clew manager serve";

/// The address that the service told last.
fn told(dir: &Path) -> Result<ServiceUrl, Failure> {
    let path = dir.join(super::ADDRESS);
    if !path.exists() {
        return Err(
            Failure::file(dir, "no service of this group has told its address").hint(START),
        );
    }
    let url = secrets::read_text(&path)?.trim().parse();
    url.map_err(|error| Failure::file(&path, error))
}

pub fn login(arguments: &ManagerLogin) -> Result<Status, Failure> {
    let (url, key) = match (&arguments.dir, &arguments.manager, &arguments.key) {
        (Some(dir), None, None) => {
            let url = match &arguments.at {
                Some(at) => {
                    let pin = Certificate::pin_of(&dir.join(SERVICE_TLS));
                    let pin = pin.map_err(|error| Failure::new(error).hint(START))?;
                    ServiceUrl::pinned(&at.to_string(), pin).map_err(Failure::new)?
                }
                None => told(dir)?,
            };
            let store = Store::open(dir)?;
            (url, arguments.unlock.issuer(&store)?.manager)
        }
        (None, Some(url), Some(path)) => {
            let key = arguments.unlock.load(path, AuthorKeyFile::decode)?;
            (url.clone(), key.signing_key())
        }
        _ => {
            let why = "need the group's directory, or --manager with --key";
            return Err(Failure::new(why).hint("use clew manager login DIR on the manager's host"));
        }
    };
    let link = crate::tunnel::run_or_stop(async {
        let client = Client::new(&url).map_err(Failure::new)?;
        let link = link(&client, &key).await;
        link.map_err(|error| Failure::new(error).hint(format!("{START}, or use --at")))
    })?;
    say!("{link}");
    mention!("open it in a browser within two minutes: it logs in once, whoever has it");
    Ok(Status::Yes)
}
