//! The five files of a join (`spec/key-file.md` section 4).

use crate::{MAX_HELD_EPOCHS, TextFile};
use clew_evidence::armor;
use clew_evidence::signed::{holds, strict_key};
use clew_evidence::wire::{Reader, read_row, row_bytes};
use clew_evidence::{
    DeviceEntry, EntryKey, GroupFile, GroupId, KeyOrigin, Name, RegisterEntry, TextError,
};
use clew_group::{EpochId, Invalid, PROOF_BYTES, Proof, Witness, domain_separator, xr};
use ed25519_dalek::{Signer, SigningKey};

/// Which file of a join a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// The issuer's invitation.
    Invitation,
    /// The device's request.
    Request,
    /// The issuer's offer.
    Offer,
    /// The device's acceptance.
    Acceptance,
    /// The issuer's credential.
    Credential,
}

/// Says which file of a join a text is, by its label. `None` if it is another file.
///
/// # Errors
/// [`TextError`] if it is not a file of clew.
pub fn round(text: &str) -> Result<Option<Round>, TextError> {
    Ok(match armor::label(text)? {
        InvitationFile::LABEL => Some(Round::Invitation),
        RequestFile::LABEL => Some(Round::Request),
        OfferFile::LABEL => Some(Round::Offer),
        AcceptanceFile::LABEL => Some(Round::Acceptance),
        CredentialFile::LABEL => Some(Round::Credential),
        _ => None,
    })
}

/// The issuer invites a machine. Whoever has the file first can join under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitationFile {
    /// The group.
    pub group: GroupId,
    /// Names this join; random.
    pub nonce: [u8; 32],
    /// Name of the machine.
    pub name: Name,
    /// The manager's, over D(label) and the fields before.
    pub signature: [u8; 64],
}

impl InvitationFile {
    /// Makes and signs an invitation.
    pub fn new(group: GroupId, nonce: [u8; 32], name: Name, manager: &SigningKey) -> Self {
        let signature = manager
            .sign(&Self::statement(group, &nonce, &name))
            .to_bytes();
        Self {
            group,
            nonce,
            name,
            signature,
        }
    }

    /// Checks that the group's manager made it.
    ///
    /// # Errors
    /// [`Invalid`] if the manager did not sign it.
    pub fn check(&self, group: &GroupFile) -> Result<(), Invalid> {
        let statement = Self::statement(self.group, &self.nonce, &self.name);
        let manager = strict_key(&group.genesis().manager).ok_or(Invalid)?;
        let signed = holds(&manager, &statement, &self.signature);
        signed.then_some(()).ok_or(Invalid)
    }

    fn statement(group: GroupId, nonce: &[u8; 32], name: &Name) -> Vec<u8> {
        let mut out = domain_separator(Self::LABEL).to_vec();
        out.extend_from_slice(&group.0);
        out.extend_from_slice(nonce);
        name.write(&mut out);
        out
    }
}

impl TextFile for InvitationFile {
    const LABEL: &'static str = "clew-invitation-1";

    fn comment(&self) -> String {
        format!(
            "clew invitation for machine {} to group {}. Give it to that machine only.",
            self.name, self.group
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.nonce);
        self.name.write(out);
        out.extend_from_slice(&self.signature);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            group: GroupId(fields.array()?),
            nonce: fields.array()?,
            name: Name::read(fields)?,
            signature: fields.array()?,
        })
    }
}

/// The device asks to join.
#[derive(Clone, Debug)]
pub struct RequestFile {
    /// That of the invitation.
    pub nonce: [u8; 32],
    /// The device's Ed25519 public key.
    pub device: [u8; 32],
    /// C' with the proof of y'.
    pub request: xr::JoinRequest,
}

impl TextFile for RequestFile {
    const LABEL: &'static str = "clew-join-request-1";

    fn comment(&self) -> String {
        "clew request to join. Send it to the group's issuer.".to_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.device);
        out.extend_from_slice(&self.request.to_bytes());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            nonce: fields.array()?,
            device: fields.array()?,
            request: xr::JoinRequest::from_bytes(fields.take(xr::REQUEST_BYTES)?).ok()?,
        })
    }
}

/// The issuer's offer: A, x and s, and what the device is to vouch for.
#[derive(Clone, Debug)]
pub struct OfferFile {
    /// That of the invitation.
    pub nonce: [u8; 32],
    /// The epoch in which the machine joins.
    pub joined: u32,
    /// Its id.
    pub id: EpochId,
    /// How the machine joins.
    pub how: KeyOrigin,
    /// The row that the machine's row replaces.
    pub replaces: Option<u32>,
    /// A, x, s.
    pub offer: xr::Offer,
}

impl OfferFile {
    /// What the device vouches for and the issuer enters: both make it from the same values. Its
    /// place, S and the proof of y are left empty.
    pub fn entry(
        &self,
        name: &Name,
        request: &RequestFile,
        genesis: &xr::PublicKey,
    ) -> RegisterEntry {
        let commitment = self.offer.commitment(genesis, &request.request);
        RegisterEntry {
            index: 0,
            joined: self.joined,
            how: self.how,
            replaces: self.replaces,
            credential: self.offer.a().to_bytes(),
            name: name.clone(),
            key: EntryKey::Xr(DeviceEntry {
                commitment: commitment.to_bytes(),
                key: request.device,
                signature: [0; 64],
                proof: [0; PROOF_BYTES],
            }),
        }
    }
}

impl TextFile for OfferFile {
    const LABEL: &'static str = "clew-offer-1";

    fn comment(&self) -> String {
        "clew offer of a credential. Send it to the device that asked.".to_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.joined.to_be_bytes());
        out.extend_from_slice(&self.id.0);
        out.push(self.how.code());
        out.extend_from_slice(&row_bytes(self.replaces));
        out.extend_from_slice(&self.offer.to_bytes());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            nonce: fields.array()?,
            joined: fields.u32()?,
            id: EpochId(fields.array()?),
            how: KeyOrigin::from_code(fields.u8()?)?,
            replaces: read_row(fields)?,
            offer: xr::Offer::from_bytes(fields.take(xr::OFFER_BYTES)?).ok()?,
        })
    }
}

/// The device accepts: it vouches for its register entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptanceFile {
    /// That of the invitation.
    pub nonce: [u8; 32],
    /// S, over [`RegisterEntry::statement`].
    pub signature: [u8; 64],
    /// The proof of y, for the same statement.
    pub proof: Proof,
}

impl TextFile for AcceptanceFile {
    const LABEL: &'static str = "clew-acceptance-1";

    fn comment(&self) -> String {
        "clew acceptance of an offer. Send it to the group's issuer.".to_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.signature);
        out.extend_from_slice(&self.proof.to_bytes());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            nonce: fields.array()?,
            signature: fields.array()?,
            proof: Proof::from_bytes(fields.take(PROOF_BYTES)?).ok()?,
        })
    }
}

/// The issuer's last word: the machine's row, and W of each epoch that it may sign in next.
#[derive(Clone, Debug)]
pub struct CredentialFile {
    /// That of the invitation; zeros if the manager gave the witnesses again.
    pub nonce: [u8; 32],
    /// The machine's row in the register.
    pub index: u32,
    /// Epochs, ascending, with their witnesses: 1 to [`MAX_HELD_EPOCHS`].
    pub witnesses: Vec<(u32, Witness)>,
}

impl TextFile for CredentialFile {
    const LABEL: &'static str = "clew-credential-1";

    fn comment(&self) -> String {
        "clew credential. Send it to the device that joined.".to_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.index.to_be_bytes());
        out.push(self.witnesses.len() as u8);
        for (epoch, witness) in &self.witnesses {
            out.extend_from_slice(&epoch.to_be_bytes());
            out.extend_from_slice(&witness.to_bytes());
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let (nonce, index) = (fields.array()?, fields.u32()?);
        let count = usize::from(fields.u8()?);
        if !(1..=MAX_HELD_EPOCHS).contains(&count) {
            return None;
        }
        let mut each = || {
            let epoch = fields.u32()?;
            Some((epoch, Witness::from_bytes(fields.take(48)?).ok()?))
        };
        let witnesses: Vec<_> = (0..count).map(|_| each()).collect::<Option<_>>()?;
        let ascending = witnesses.is_sorted_by(|(a, _), (b, _)| a < b);
        ascending.then_some(Self {
            nonce,
            index,
            witnesses,
        })
    }
}
