//! Who may write into the group's log and onto its board.

use super::Store;
use super::outbox::send_author;
use crate::error::StoreError;
use crate::storage::Transaction;
use clew_evidence::Name;
use clew_keys::Author;
use clew_log::entry::{Role, Trusteeship};

/// An author that the manager admitted, or dismissed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedAuthor {
    /// Its keys, and the manager's name for it.
    pub author: Author,
    /// Its role, of several trusteeships the newest; [`Role::None`] once it is dismissed.
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

    /// All trusteeships with the keys that have them, the oldest first.
    ///
    /// # Errors
    /// The database's.
    pub fn trusteeships(&self) -> Result<Vec<(Trusteeship, [u8; 32])>, StoreError> {
        self.db.trusteeships()
    }

    /// Admits an author in a role, and puts the log's entry into the outbox in the same transaction.
    /// One that was dismissed comes back. A trustee takes its share of that opening key from the key that had
    /// it, and no share of another opening key. `now` is in nanoseconds since 1970.
    ///
    /// Returns `false`, and changes nothing, if the author is admitted already.
    ///
    /// # Errors
    /// [`StoreError::AuthorIsManager`], [`StoreError::AuthorAdmitted`] in another role or under another
    /// name, [`StoreError::AuthorNameTaken`], [`StoreError::NoOpeningKey`]; then nothing changes.
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
        self.check_not_halted()?;
        if let Role::Trustee(held) = role {
            let begins = self.group.sharing_record(held.since);
            if begins.is_none_or(|(since, _)| since != held.since) {
                return Err(StoreError::NoOpeningKey(held.since));
            }
        }
        let transaction = self.db.begin()?;
        let held = transaction.trusteeships()?;
        let known = transaction.author(key)?;
        if let Some(known) = known.as_ref().filter(|known| known.role != Role::None) {
            let (is_so, is_further) = match (role, known.role) {
                (Role::Trustee(new), Role::Trustee(_)) => {
                    let mut own = held.iter().filter(|(_, of)| of == key);
                    let is_so = own.any(|(held, _)| *held == new);
                    let mut own = held.iter().filter(|(_, of)| of == key);
                    (is_so, own.all(|(held, _)| held.since != new.since))
                }
                (role, known) => (role == known, false),
            };
            match known.author == *author && (is_so || is_further) {
                true if is_so => return Ok(false),
                true => {}
                false => return Err(StoreError::AuthorAdmitted(known.author.name.to_string())),
            }
        }
        seat(&*transaction, author, role, now)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Takes the role of the author with that name, with all trusteeships, and puts that into the outbox in
    /// the same transaction.
    ///
    /// # Errors
    /// [`StoreError::NoAuthor`] if nobody in force has the name.
    pub fn dismiss_author(&mut self, name: &Name) -> Result<(), StoreError> {
        self.check_not_halted()?;
        let transaction = self.db.begin()?;
        let all = transaction.authors()?;
        let mut in_force = all.into_iter().filter(|known| known.role != Role::None);
        let known = in_force.find(|known| known.author.name == *name);
        let author = known.ok_or_else(|| StoreError::NoAuthor(name.to_string()))?;
        let author = author.author;
        transaction.set_author_role(author.signs.as_bytes(), Role::None)?;
        transaction.drop_trusteeships(author.signs.as_bytes())?;
        send_author(&*transaction, Role::None, &author)?;
        transaction.commit()
    }

    /// Gives trustees their shares of the opening key that begins with epoch `since`: those who have them
    /// keep them, others are admitted. Trustees of earlier opening keys stay what they were. All in one
    /// transaction, with the log's entries. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::AuthorNameTaken`]; then nothing changes.
    pub fn seat_trustees(
        &mut self,
        since: u32,
        trustees: &[(u8, Author)],
        now: u64,
    ) -> Result<(), StoreError> {
        self.check_not_halted()?;
        let transaction = self.db.begin()?;
        let known = transaction.trusteeships()?;
        for (index, author) in trustees {
            let (index, key) = (*index, author.signs.to_bytes());
            let held = Trusteeship { since, index };
            if !known.contains(&(held, key)) {
                seat(&*transaction, author, Role::Trustee(held), now)?;
            }
        }
        transaction.commit()
    }
}

/// Gives an author a role, and puts it into the outbox.
fn seat(
    transaction: &dyn Transaction,
    author: &Author,
    role: Role,
    now: u64,
) -> Result<(), StoreError> {
    let key = author.signs.as_bytes();
    if let Role::Trustee(held) = role {
        release(transaction, held)?;
    }
    let all = transaction.authors()?;
    let mut others = all
        .iter()
        .filter(|other| other.author.signs != author.signs);
    if others.any(|other| other.role != Role::None && other.author.name == author.name) {
        return Err(StoreError::AuthorNameTaken(author.name.to_string()));
    }
    let known = all.iter().find(|known| known.author.signs == author.signs);
    let author = match known {
        // In force: it keeps the name that it has.
        Some(known) if known.role != Role::None => {
            transaction.set_author_role(key, role)?;
            &known.author
        }
        Some(_) => {
            transaction.readmit_author(author, role, now)?;
            author
        }
        None => {
            transaction.add_author(author, role, now)?;
            author
        }
    };
    if let Role::Trustee(held) = role {
        transaction.set_trusteeship(held, key)?;
    }
    send_author(transaction, role, author)
}

/// Takes the role of the key that has a share and no other.
fn release(transaction: &dyn Transaction, held: Trusteeship) -> Result<(), StoreError> {
    let all = transaction.trusteeships()?;
    let Some((_, earlier)) = all.iter().find(|(of, _)| *of == held) else {
        return Ok(());
    };
    match all.iter().filter(|(_, key)| key == earlier).count() {
        1 => {
            transaction.set_author_role(earlier, Role::None)?;
            transaction.drop_trusteeships(earlier)
        }
        _ => Ok(()),
    }
}
