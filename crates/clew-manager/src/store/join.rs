//! The issuer's side of a join from the device's own host, one call a round (`clew_keys::join`).
//!
//! Many joins may be under way at once, in any order, and each round may be repeated: the argument
//! for that is the algebraic group model with a random oracle (`spec/security.md`), and it needs a
//! fresh x for every offer. So the salt of x and s is drawn with the offer and kept with the request
//! that it answers; another request gets nothing.

use super::enrol::{Place, free, fresh_salt};
use super::epochs::RevokedRows;
use super::revoke::not_before_newest;
use super::{Machine, Store, begin, read_group, register};
use crate::error::StoreError;
use clew_evidence::{How, Name};
use clew_group::xr;
use clew_keys::join::{
    AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile, TextFile,
};
use clew_keys::{IssuerKey, IssuerKeyFile};
use rand_core::CryptoRng;
use rusqlite::{Connection, OptionalExtension, params};

/// An invitation by which no machine has joined yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Name of the invited machine.
    pub name: Name,
    /// When it was invited, nanoseconds since 1970.
    pub invited_at: u64,
    /// The epoch of the offer, if a device asked for one.
    pub offered: Option<u32>,
}

/// The nonce of a credential that belongs to no join.
const NO_JOIN: [u8; 32] = [0; 32];

impl Store {
    /// The open invitations, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if a name does not decode.
    pub fn invitations(&self) -> Result<Vec<Invitation>, StoreError> {
        let query = "SELECT name, created_at, joined FROM joining
                     WHERE machine IS NULL ORDER BY created_at, name";
        let mut statement = self.db.prepare_cached(query)?;
        let rows = statement.query_map([], |row| {
            let invited_at = row.get::<_, i64>(1)?.cast_unsigned();
            Ok((row.get(0)?, invited_at, row.get(2)?))
        })?;
        let each = rows.map(|row| {
            let (name, invited_at, offered) = row?;
            Ok(Invitation {
                name: joining_name(name)?,
                invited_at,
                offered,
            })
        });
        each.collect()
    }

    /// Withdraws the open invitations of a name, and returns how many there were. A device that answers
    /// one, or accepts its offer, is refused from now on.
    ///
    /// # Errors
    /// [`StoreError::NotInvited`] if none is open.
    pub fn withdraw(&mut self, name: &Name) -> Result<usize, StoreError> {
        let query = "DELETE FROM joining WHERE name = ?1 AND machine IS NULL";
        match self.db.execute(query, [name.as_str()])? {
            0 => Err(StoreError::NotInvited(name.to_string())),
            withdrawn => Ok(withdrawn),
        }
    }

    /// Gives a live machine its witnesses of today again, whichever way it joined. The nonce belongs to
    /// no join.
    ///
    /// # Errors
    /// [`StoreError::NoSuchMachine`], [`StoreError::AlreadyRevoked`], [`StoreError::ClockBehind`].
    pub fn witnesses(
        &self,
        issuer: &IssuerKeyFile,
        name: &Name,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        self.check_key(issuer)?;
        let now = not_before_newest(&self.group, now)?;
        let machine = register::last_of_name(&self.db, name.as_str())?;
        let machine = machine.ok_or_else(|| StoreError::NoSuchMachine(name.to_string()))?;
        self.credential(issuer, NO_JOIN, &machine, now)
    }

    /// Invites a machine to join from its own host (`xr`). `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the last machine of that name is not revoked;
    /// [`StoreError::NoJoin`] with `bbs04`.
    pub fn invite(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<InvitationFile, StoreError> {
        self.check_key(issuer)?;
        gamma(issuer)?;
        let transaction = begin(&mut self.db)?;
        free(&transaction, &name)?;
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        transaction.execute(
            "INSERT INTO joining (nonce, name, created_at) VALUES (?1, ?2, ?3)",
            params![nonce, name.as_str(), now.cast_signed()],
        )?;
        transaction.commit()?;
        Ok(InvitationFile::new(
            self.group.id(),
            nonce,
            name,
            &issuer.manager,
        ))
    }

    /// Answers a device's request with an offer: the same offer each time that the same request comes.
    /// `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoInvitation`], [`StoreError::OtherRequest`], [`StoreError::NameTaken`],
    /// [`StoreError::ClockBehind`]; [`StoreError::Join`] if the device did not prove y' in this session.
    pub fn offer(
        &mut self,
        issuer: &IssuerKeyFile,
        request: &RequestFile,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<OfferFile, StoreError> {
        let gamma = gamma(issuer)?;
        let joining = Joining::find(&self.db, &request.nonce)?;
        if let Some(offered) = joining.offered {
            if offered.request != request.payload() {
                return Err(StoreError::OtherRequest);
            }
            return offered
                .repeat(self, issuer, joining.name, now)?
                .offer(gamma);
        }
        let mut place = self.place(issuer, joining.name, now)?;
        // Again under the lock: two processes may have the same request.
        if Joining::find(&place.transaction, &request.nonce)?
            .offered
            .is_some()
        {
            drop(place);
            return self.offer(issuer, request, now, rng);
        }
        place.salt = fresh_salt(rng);
        let offer = place.offer(gamma, request, How::OwnHost)?;
        keep(&place, request)?;
        place.transaction.commit()?;
        Ok(offer)
    }

    /// Takes a device's acceptance: enters the machine in the register, publishes it, and only then
    /// returns its witnesses. Repeated, it returns those of today, unless the machine was revoked.
    /// `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoInvitation`], [`StoreError::NotOffered`], [`StoreError::Device`],
    /// [`StoreError::OfferExpired`] if an epoch began since: held back, an acceptance would let the
    /// machine date packets back to the epoch of its offer, before it was enrolled, unseen;
    /// [`StoreError::NameTaken`] if another join had the name first, [`StoreError::AlreadyRevoked`].
    pub fn admit(
        &mut self,
        issuer: &IssuerKeyFile,
        acceptance: &AcceptanceFile,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        let gamma = gamma(issuer)?;
        let joining = Joining::find(&self.db, &acceptance.nonce)?;
        let offered = joining.offered.ok_or(StoreError::NotOffered)?;
        let repeat = offered.repeat(self, issuer, joining.name, now)?;
        let index = repeat.admit(gamma, acceptance)?;
        self.refresh()?;
        let machine = register::at(&self.db, index)?;
        self.credential(issuer, acceptance.nonce, &machine, now)
    }

    fn credential(
        &self,
        issuer: &IssuerKeyFile,
        nonce: [u8; 32],
        machine: &Machine,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        let revoked = RevokedRows::read(&self.db, issuer)?;
        let x = machine.x(issuer);
        let witnesses = revoked.witnesses_of(&self.group, issuer, &x, now)?;
        match machine.revoked_in {
            Some(epoch) if witnesses.is_empty() => Err(StoreError::AlreadyRevoked {
                machine: machine.entry.name.to_string(),
                epoch,
            }),
            _ => Ok(CredentialFile {
                nonce,
                index: machine.entry.index,
                witnesses,
            }),
        }
    }
}

fn gamma(issuer: &IssuerKeyFile) -> Result<&xr::IssuerKey, StoreError> {
    match &issuer.issuer {
        IssuerKey::Xr(gamma) => Ok(gamma),
        IssuerKey::Bbs04(_) => Err(StoreError::NoJoin),
    }
}

/// Keeps the request with the salt of its offer, before the offer leaves.
fn keep(place: &Place<'_>, request: &RequestFile) -> Result<(), StoreError> {
    place.transaction.execute(
        "UPDATE joining SET request = ?2, salt = ?3, joined = ?4, replaces = ?5
         WHERE nonce = ?1 AND request IS NULL",
        params![
            request.nonce,
            request.payload(),
            place.salt,
            place.joined,
            place.replaces.map_or(-1, i64::from),
        ],
    )?;
    Ok(())
}

fn joining_name(name: String) -> Result<Name, StoreError> {
    let damaged = |_| StoreError::Damaged("the name of a join is not one".to_owned());
    name.parse().map_err(damaged)
}

/// A join under way.
struct Joining {
    name: Name,
    offered: Option<Offered>,
}

/// What was offered in it.
struct Offered {
    request: Vec<u8>,
    salt: [u8; 16],
    joined: u32,
    replaces: Option<u32>,
    machine: Option<u32>,
}

impl Joining {
    fn find(db: &Connection, nonce: &[u8; 32]) -> Result<Self, StoreError> {
        let query = "SELECT name, request, salt, joined, replaces, machine
                     FROM joining WHERE nonce = ?1";
        let mut statement = db.prepare_cached(query)?;
        let found = statement.query_row([nonce], |row| {
            let offered = |request| -> rusqlite::Result<Offered> {
                Ok(Offered {
                    request,
                    salt: row.get(2)?,
                    joined: row.get(3)?,
                    replaces: u32::try_from(row.get::<_, i64>(4)?).ok(),
                    machine: row.get(5)?,
                })
            };
            let request: Option<Vec<u8>> = row.get(1)?;
            Ok((row.get(0)?, request.map(offered).transpose()?))
        });
        let (name, offered): (String, _) = found.optional()?.ok_or(StoreError::NoInvitation)?;
        Ok(Self {
            name: joining_name(name)?,
            offered,
        })
    }
}

impl Offered {
    /// The place of the offer again, under the database's write lock.
    fn repeat<'a>(
        self,
        store: &'a mut Store,
        issuer: &'a IssuerKeyFile,
        name: Name,
        now: u64,
    ) -> Result<Repeat<'a>, StoreError> {
        store.check_key(issuer)?;
        let transaction = begin(&mut store.db)?;
        let damaged = || StoreError::Damaged("the request of a join does not decode".to_owned());
        Ok(Repeat {
            request: RequestFile::from_payload(&self.request).ok_or_else(damaged)?,
            machine: self.machine,
            place: Place {
                group: read_group(&transaction)?,
                transaction,
                issuer,
                name,
                joined: self.joined,
                replaces: self.replaces,
                salt: self.salt,
                now,
            },
        })
    }
}

/// An offer that was made before.
struct Repeat<'a> {
    place: Place<'a>,
    request: RequestFile,
    machine: Option<u32>,
}

impl Repeat<'_> {
    fn offer(&self, gamma: &xr::IssuerKey) -> Result<OfferFile, StoreError> {
        self.place.offer(gamma, &self.request, How::OwnHost)
    }

    /// Enters the machine, unless it is entered, and returns its row.
    fn admit(self, gamma: &xr::IssuerKey, acceptance: &AcceptanceFile) -> Result<u32, StoreError> {
        let offer = self.offer(gamma)?;
        let Self { place, request, .. } = &self;
        let entry = place.entry(request, &offer, acceptance)?;
        if let Some(index) = self.entered(&acceptance.nonce)? {
            return Ok(index);
        }
        if free(&place.transaction, &place.name)? != place.replaces {
            return Err(StoreError::NameTaken(place.name.to_string()));
        }
        let now = not_before_newest(&place.group, place.now)?;
        let in_force = place.group.epoch_at(now);
        if place.joined != in_force {
            return Err(StoreError::OfferExpired {
                offered: place.joined,
                in_force,
            });
        }
        place.write(&entry)?;
        place.transaction.execute(
            "UPDATE joining SET machine = ?2 WHERE nonce = ?1",
            params![acceptance.nonce, entry.index],
        )?;
        self.place.transaction.commit()?;
        Ok(entry.index)
    }

    /// The machine's row, if there is one: as it was found, or as another process made it since.
    fn entered(&self, nonce: &[u8; 32]) -> Result<Option<u32>, StoreError> {
        match self.machine {
            Some(index) => Ok(Some(index)),
            None => {
                let again = Joining::find(&self.place.transaction, nonce)?;
                Ok(again.offered.and_then(|offered| offered.machine))
            }
        }
    }
}
