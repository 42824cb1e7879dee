//! A request that its author filed before from another directory: what the log says of it.

use super::exchange::{Exchange, unlogged};
use super::folder::{Folder, Settings};
use crate::failure::Failure;
use clew_log::Checkpoint;
use clew_log::entry::{Body, Filed, Logged, Seal};
use clew_log::tile::WIDTH;
use clew_service::log::LogClientError;

/// Most bundles of entries that are searched, from the newest on: a million entries.
const BUNDLES_MAX: usize = 1 << 12;

/// Takes the salt of the entry that the log has of this request, if its warrant is public there.
///
/// Nothing is believed: the log gives its proof only for an entry with just this statement.
///
/// # Errors
/// The log does not answer, or the entry is sealed.
pub async fn take_over(folder: &mut Folder, exchange: &Exchange<'_>) -> Result<(), Failure> {
    let found = find(exchange, folder.topic()).await;
    let (place, filed) = found.map_err(|error| unlogged(&error))?.ok_or_else(|| {
        Failure::new("the log has this request already, filed from another directory")
            .hint("go on with that directory: use it with -o")
    })?;
    let Seal::Open(shown) = filed.seal else {
        let why = format!("entry {place} of the log is this request, sealed, of another directory");
        return Err(Failure::new(why).hint(
            "go on with that directory: use it with -o. Without it a new warrant is needed, because only \
             that directory has the salt",
        ));
    };
    mention!(
        "clew: entry {place} of the log is this request, filed from another directory: going on with it"
    );
    let settings = Settings {
        salt: shown.salt,
        sealed_until: 0,
        ..folder.settings.clone()
    };
    folder.change(settings)?;
    Ok(())
}

/// Looks for this author's entry of a request, newest first.
async fn find(
    exchange: &Exchange<'_>,
    request: [u8; 32],
) -> Result<Option<(u64, Filed)>, LogClientError> {
    let note = exchange.log.checkpoint().await?;
    let stated = Checkpoint::parse(note.text());
    let size = stated
        .map_err(|_| LogClientError::Answer("a checkpoint"))?
        .size;
    let author = exchange.key().public().signs.to_bytes();
    let mut end = size;
    for _ in 0..BUNDLES_MAX {
        let Some(last) = end.checked_sub(1) else {
            break;
        };
        end = last / WIDTH * WIDTH;
        let entries = exchange.log.entries(end, size).await?;
        for (place, bytes) in (end..).zip(&entries).collect::<Vec<_>>().into_iter().rev() {
            let Some(logged) = Logged::decode(bytes) else {
                continue;
            };
            let is_own = logged.entry.author == author;
            match logged.entry.body {
                Body::Request(filed) if is_own && filed.request == request => {
                    return Ok(Some((place, filed)));
                }
                _ => {}
            }
        }
    }
    Ok(None)
}
