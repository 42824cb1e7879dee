//! Who may write into the group's log and onto its board.

use super::Store;
use super::outbox::{LOG_AUTHOR, author_body};
use crate::error::StoreError;
use clew_evidence::Name;
use clew_keys::Author;
use clew_log::entry::Role;

/// An author that the manager admitted, or dismissed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedAuthor {
    /// Its keys, and the manager's name for it.
    pub author: Author,
    /// Its role; [`Role::None`] once it is dismissed.
    pub role: Role,
    /// When it was admitted, nanoseconds since 1970.
    pub admitted_at: u64,
}

impl Store {
    /// All authors that were ever admitted, in that order.
    ///
    /// # Errors
    /// The database's.
    pub fn authors(&self) -> Result<Vec<AdmittedAuthor>, StoreError> {
        self.db.authors()
    }

    /// Admits an author in a role, and puts the log's entry into the outbox in the same transaction.
    /// A trustee takes its index from the key that had it, which is dismissed by that. `now` is in
    /// nanoseconds since 1970.
    ///
    /// Returns `false`, and changes nothing, if the author is admitted already.
    ///
    /// # Errors
    /// [`StoreError::AuthorIsManager`], [`StoreError::AuthorAdmitted`] in another role or under another
    /// name, [`StoreError::AuthorDismissed`], [`StoreError::AuthorNameTaken`]; then nothing changes.
    pub fn admit_author(
        &mut self,
        author: &Author,
        role: Role,
        now: u64,
    ) -> Result<bool, StoreError> {
        let key = author.signs.as_bytes();
        if *key == self.group.genesis().manager {
            return Err(StoreError::AuthorIsManager);
        }
        let transaction = self.db.begin()?;
        if let Some(known) = transaction.author(key)? {
            let name = known.author.name.to_string();
            return match known.role {
                Role::None => Err(StoreError::AuthorDismissed(name)),
                is if is == role && known.author == *author => Ok(false),
                _ => Err(StoreError::AuthorAdmitted(name)),
            };
        }
        for other in transaction.authors()? {
            if other.role == Role::None {
                continue;
            }
            if other.role == role && matches!(role, Role::Trustee(_)) {
                transaction.dismiss_author(other.author.signs.as_bytes())?;
            } else if other.author.name == author.name {
                return Err(StoreError::AuthorNameTaken(author.name.to_string()));
            }
        }
        transaction.add_author(author, role, now)?;
        transaction.send(LOG_AUTHOR, &author_body(role, author))?;
        transaction.commit()?;
        Ok(true)
    }

    /// Takes the role of the author with that name, and puts that into the outbox in the same
    /// transaction.
    ///
    /// # Errors
    /// [`StoreError::NoAuthor`] if nobody in force has the name.
    pub fn dismiss_author(&mut self, name: &Name) -> Result<(), StoreError> {
        let transaction = self.db.begin()?;
        let all = transaction.authors()?;
        let mut in_force = all.into_iter().filter(|known| known.role != Role::None);
        let known = in_force.find(|known| known.author.name == *name);
        let author = known.ok_or_else(|| StoreError::NoAuthor(name.to_string()))?;
        let author = author.author;
        transaction.dismiss_author(author.signs.as_bytes())?;
        transaction.send(LOG_AUTHOR, &author_body(Role::None, &author))?;
        transaction.commit()
    }
}
