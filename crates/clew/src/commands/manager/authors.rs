//! `clew manager admit`, `dismiss` and `authors`: who may write into the log and onto the board.

use crate::cli::{AuthorRole, ManagerAdmit, ManagerAuthors, ManagerDismiss};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_evidence::{DeviceFingerprint, GroupFile};
use clew_keys::Author;
use clew_log::entry::{Role, Trusteeship};
use clew_manager::Store;

pub fn admit(arguments: &ManagerAdmit) -> Result<Status, Failure> {
    let mut author: Author = secrets::read(&arguments.key)?;
    if let Some(name) = &arguments.name {
        author.name = name.clone();
    }
    let mut store = Store::open(&arguments.dir)?;
    let role = match (arguments.role, arguments.index) {
        (AuthorRole::Trustee, Some(index)) => {
            let newest = opening_key(store.group());
            let since = arguments.since.unwrap_or(newest);
            Role::Trustee(Trusteeship { since, index })
        }
        (AuthorRole::Requester, None) => Role::Requester,
        (AuthorRole::Observer, None) => Role::Observer,
        (AuthorRole::Trustee, None) => return Err(Failure::new("a trustee requires --index")),
        (_, Some(_)) => return Err(Failure::new("--index requires --role trustee")),
    };
    let is_new = store.admit_author(&author, role, clock::now_ns())?;
    let told = if is_new {
        "admitted"
    } else {
        "already admitted"
    };
    say!("{told}: {}", line(&author, role));
    Ok(Status::Yes)
}

pub fn dismiss(arguments: &ManagerDismiss) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    store.dismiss_author(&arguments.name)?;
    say!("dismissed: {}", arguments.name);
    Ok(Status::Yes)
}

pub fn list(arguments: &ManagerAuthors) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let held = store.trusteeships()?;
    for known in store.authors()? {
        let own = held
            .iter()
            .filter(|(_, key)| key == known.author.signs.as_bytes());
        let roles: Vec<Role> = own.map(|(held, _)| Role::Trustee(*held)).collect();
        for role in if roles.is_empty() {
            vec![known.role]
        } else {
            roles
        } {
            say!("{}", line(&known.author, role));
        }
    }
    Ok(Status::Yes)
}

/// The first epoch of the newest opening key.
pub fn opening_key(group: &GroupFile) -> u32 {
    let newest = group.sharing_record(group.newest_epoch());
    newest.map_or(0, |(since, _)| since)
}

/// An author on one line: role, name, fingerprint of its key.
fn line(author: &Author, role: Role) -> String {
    let role = match role {
        Role::None => "dismissed".to_owned(),
        Role::Trustee(held) => held.to_string(),
        Role::Observer => "observer".to_owned(),
        Role::Requester => "requester".to_owned(),
    };
    format!("{role:<10}  {}  {}", author.name, fingerprint(author))
}

/// The fingerprint by which people compare an author's key.
pub fn fingerprint(author: &Author) -> DeviceFingerprint {
    DeviceFingerprint::of(author.signs.as_bytes())
}
