//! `clew manager login`: a link that logs in to the manager's pages.

use crate::cli::ManagerLogin;
use crate::failure::{Failure, Status};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_manager::{SERVICE_TLS, Store};
use clew_service::http::{Certificate, Client, ServiceUrl};
use clew_service::pages::link;

pub fn login(arguments: &ManagerLogin) -> Result<Status, Failure> {
    let (url, key) = match (&arguments.dir, &arguments.manager, &arguments.key) {
        (Some(dir), None, None) => {
            let pin = Certificate::pin_of(&dir.join(SERVICE_TLS)).map_err(|error| {
                Failure::new(error).hint("start the service with clew manager serve")
            })?;
            let url = ServiceUrl::pinned(&arguments.at.to_string(), pin).map_err(Failure::new)?;
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
        link(&client, &key).await.map_err(Failure::new)
    })?;
    say!("{link}");
    mention!("open it in a browser within two minutes: it logs in once, whoever has it");
    Ok(Status::Yes)
}
