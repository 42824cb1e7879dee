//! `clew request unseal`: a sealed request becomes public, by its requester.

use super::exchange::{Exchange, unlogged};
use super::folder::Folder;
use crate::cli::RequestUnseal;
use crate::clock;
use crate::failure::{Failure, Status};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::{Body, Warrant};

pub async fn run(arguments: &RequestUnseal) -> Result<Status, Failure> {
    let folder = Folder::open(&arguments.case)?;
    let end = folder.settings.sealed_until;
    if end == 0 {
        let why = "the request is not sealed: the log has its warrant";
        return Err(Failure::file(&arguments.case, why));
    }
    if clock::now_ns() < end && !arguments.early {
        let why = format!("sealed until {}", clock::to_the_second(end));
        return Err(Failure::file(&arguments.case, why)
            .hint("run the command then, or with --early now: it cannot be taken back"));
    }
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    let exchange = Exchange::new(&folder.manager()?, &folder.log()?, &folder.group, &key)?;
    let body = Body::Unsealed {
        place: folder.placed()?.1.index,
        warrant: Warrant {
            salt: folder.settings.salt,
            file: folder.text.as_bytes().to_vec(),
        },
    };
    let proof = exchange.log(&body, &folder.policy).await;
    let proof = proof.map_err(|error| match error.rule() {
        Some("order") => Failure::new("somebody else unsealed it: the log has its warrant"),
        _ => unlogged(&error),
    })?;
    folder.put_unsealed(&proof)?;
    say!("unsealed: entry {} of the log has the warrant", proof.index);
    Ok(Status::Yes)
}
