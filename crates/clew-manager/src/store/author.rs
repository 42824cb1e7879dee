//! Who may write into the group's log and onto its board.

use super::Store;
use super::outbox::send_author;
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
    /// One that was dismissed comes back. A trustee takes its index from the key that had it, which is dismissed by that. `now` is in
    /// nanoseconds since 1970.
    ///
    /// Returns `false`, and changes nothing, if the author is admitted already.
    ///
    /// # Errors
    /// [`StoreError::AuthorIsManager`], [`StoreError::AuthorAdmitted`] in another role or under another
    /// name, [`StoreError::AuthorNameTaken`]; then nothing changes.
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
        let transaction = self.db.begin()?;
        let known = transaction.author(key)?;
        if let Some(known) = known.as_ref().filter(|known| known.role != Role::None) {
            return match known.role == role && known.author == *author {
                true => Ok(false),
                false => Err(StoreError::AuthorAdmitted(known.author.name.to_string())),
            };
        }
        for other in transaction.authors()? {
            if other.role == Role::None {
                continue;
            }
            if other.role == role && matches!(role, Role::Trustee(_)) {
                transaction.set_author_role(other.author.signs.as_bytes(), Role::None)?;
            } else if other.author.name == author.name {
                return Err(StoreError::AuthorNameTaken(author.name.to_string()));
            }
        }
        match known {
            Some(_) => transaction.readmit_author(author, role, now)?,
            None => transaction.add_author(author, role, now)?,
        }
        send_author(&*transaction, role, author)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Takes the role of the author with that name, and puts that into the outbox in the same
    /// transaction.
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
        send_author(&*transaction, Role::None, &author)?;
        transaction.commit()
    }

    /// Gives trustees of a new opening key their indices: those who have them keep them, others are
    /// admitted, or change their index. All in one transaction, with the log's entries. `now` is in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::AuthorNameTaken`]; then nothing changes.
    pub fn seat_trustees(&mut self, trustees: &[(u8, Author)], now: u64) -> Result<(), StoreError> {
        self.check_not_halted()?;
        let transaction = self.db.begin()?;
        let all = transaction.authors()?;
        let is_seated = |known: &AdmittedAuthor, index: u8, author: &Author| {
            known.role == Role::Trustee(index) && known.author.signs == author.signs
        };
        let seats = |known: &AdmittedAuthor| {
            let mut seats = trustees.iter();
            seats.find(|(_, author)| author.signs == known.author.signs)
        };
        // First whoever has an index that another gets, or another index than it gets.
        for known in &all {
            let Role::Trustee(index) = known.role else {
                continue;
            };
            let is_given = trustees.iter().any(|(given, _)| *given == index);
            let moves = seats(known).is_some_and(|(given, _)| *given != index);
            let stays = seats(known).is_some_and(|(given, _)| *given == index);
            if moves || (is_given && !stays) {
                transaction.set_author_role(known.author.signs.as_bytes(), Role::None)?;
            }
        }
        for (index, author) in trustees {
            if all.iter().any(|known| is_seated(known, *index, author)) {
                continue;
            }
            let role = Role::Trustee(*index);
            let known = all.iter().find(|known| known.author.signs == author.signs);
            let author = match known {
                Some(known) if known.role != Role::None => {
                    transaction.set_author_role(author.signs.as_bytes(), role)?;
                    &known.author
                }
                known => {
                    let mut others = transaction.authors()?.into_iter();
                    let in_force = |other: &AdmittedAuthor| other.role != Role::None;
                    if others.any(|other| in_force(&other) && other.author.name == author.name) {
                        return Err(StoreError::AuthorNameTaken(author.name.to_string()));
                    }
                    match known {
                        Some(_) => transaction.readmit_author(author, role, now)?,
                        None => transaction.add_author(author, role, now)?,
                    }
                    author
                }
            };
            send_author(&*transaction, role, author)?;
        }
        transaction.commit()
    }
}
