//! What stands in posts of a request's topic (`spec/request.md` section 3).

use super::CaseFile;
use clew_evidence::wire::Reader;
use clew_evidence::{Share, WallTime};
use clew_group::quorum::{Set, Trustee};
use clew_log::Proof;
use clew_log::entry::Answer;

/// The kind of a post with a case file.
pub const CASE_KIND: u8 = 32;

/// A post of a request's topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Requester: all that trustees need.
    Case(Box<CaseFile>),
    /// Trustee: what its checks found. `Yes` says that its operator may decide.
    Reviewed {
        /// By the trustee's clock.
        time: WallTime,
        /// Its index.
        trustee: Trustee,
        /// The first rule that failed, or `Yes`.
        answer: Answer,
    },
    /// Trustee: the log's proof of its decision.
    Decision(Box<Proof>),
    /// Trustee: its share, encrypted to the requester.
    Share {
        /// By the trustee's clock.
        time: WallTime,
        /// Its index.
        trustee: Trustee,
        /// Of a match: which set it is for. 0 for an opening.
        attempt: u8,
        /// See [`super::sealed_share`].
        sealed: Vec<u8>,
    },
    /// Trustee, in a match: a commitment or a blind.
    Step {
        /// Which set it is for.
        attempt: u8,
        /// The commitment or blind.
        share: Box<Share>,
    },
    /// Requester, in a match: who is to answer together.
    Set {
        /// From 1; the highest one counts.
        attempt: u8,
        /// The trustees.
        set: Set,
    },
    /// Requester: the log's proof of the result.
    Result(Box<Proof>),
}

/// A message, and the key that signed its post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The author's Ed25519 key.
    pub author: [u8; 32],
    /// What it says.
    pub message: Message,
}

impl Message {
    /// Returns the number of its kind.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Case(_) => CASE_KIND,
            Self::Reviewed { .. } => 33,
            Self::Decision(_) => 34,
            Self::Share { .. } => 35,
            Self::Step { .. } => 36,
            Self::Set { .. } => 37,
            Self::Result(_) => 38,
        }
    }

    /// Encodes the body of the post. Returns `None` if a case file is too long.
    pub fn encode(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Case(case) => return case.encode(),
            Self::Reviewed {
                time,
                trustee,
                answer,
            } => {
                let mut out = time.as_nanos().to_be_bytes().to_vec();
                out.extend([trustee.index(), number(*answer)]);
                out
            }
            Self::Decision(proof) | Self::Result(proof) => proof.to_string().into_bytes(),
            Self::Share {
                time,
                trustee,
                attempt,
                sealed,
            } => {
                let mut out = time.as_nanos().to_be_bytes().to_vec();
                out.extend([trustee.index(), *attempt]);
                out.extend(sealed);
                out
            }
            Self::Step { attempt, share } => {
                let mut out = vec![*attempt];
                out.extend(share.encode().as_bytes());
                out
            }
            Self::Set { attempt, set } => {
                let mut out = vec![*attempt];
                out.extend(set.to_bytes());
                out
            }
        })
    }

    /// Decodes the body of a post of that kind. Returns `None` if it has another form.
    pub fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        let proof = || Proof::parse(std::str::from_utf8(body).ok()?).map(Box::new);
        match kind {
            CASE_KIND => CaseFile::decode(body).map(Box::new).map(Self::Case),
            33 => reviewed(body),
            34 => proof().map(Self::Decision),
            35 => share(body),
            36 => {
                let (attempt, text) = body.split_first()?;
                let share = Share::decode(std::str::from_utf8(text).ok()?).ok()?;
                share.set()?;
                Some(Self::Step {
                    attempt: *attempt,
                    share: Box::new(share),
                })
            }
            37 => {
                let mut fields = Reader(body);
                let attempt = fields.u8().filter(|attempt| *attempt > 0)?;
                let set = Set::from_bytes(fields.take(4)?).ok()?;
                let fits = set.count() > 0 && fields.0.is_empty();
                fits.then_some(Self::Set { attempt, set })
            }
            38 => proof().map(Self::Result),
            _ => None,
        }
    }
}

fn reviewed(body: &[u8]) -> Option<Message> {
    let mut fields = Reader(body);
    let time = WallTime::from_nanos(fields.u64()?);
    let trustee = Trustee::new(fields.u8()?).ok()?;
    let answer = match fields.u8()? {
        0 => return None,
        1 => Answer::Yes,
        rule => Answer::No(rule),
    };
    fields.0.is_empty().then_some(Message::Reviewed {
        time,
        trustee,
        answer,
    })
}

fn share(body: &[u8]) -> Option<Message> {
    let mut fields = Reader(body);
    Some(Message::Share {
        time: WallTime::from_nanos(fields.u64()?),
        trustee: Trustee::new(fields.u8()?).ok()?,
        attempt: fields.u8()?,
        sealed: fields.take(fields.0.len())?.to_vec(),
    })
}

/// The number of an answer: 1 is yes, others are rules.
pub const fn number(answer: Answer) -> u8 {
    match answer {
        Answer::Yes => 1,
        Answer::No(rule) => rule,
    }
}

#[cfg(test)]
mod tests {
    use super::super::case_file::tests::case;
    use super::*;

    fn trustee(index: u8) -> Trustee {
        Trustee::new(index).unwrap()
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let time = WallTime::from_nanos(77);
        let set = Set::of([1, 3].map(trustee)).unwrap();
        let all = [
            Message::Case(Box::new(case())),
            Message::Reviewed {
                time,
                trustee: trustee(2),
                answer: Answer::No(17),
            },
            Message::Reviewed {
                time,
                trustee: trustee(2),
                answer: Answer::Yes,
            },
            Message::Share {
                time,
                trustee: trustee(3),
                attempt: 0,
                sealed: vec![5; 200],
            },
            Message::Set { attempt: 1, set },
        ];
        for message in all {
            let body = message.encode().unwrap();
            assert_eq!(Message::decode(message.kind(), &body), Some(message));
        }
    }

    #[test]
    fn other_bodies_are_none() {
        let short_and_long = [0, 1, 9, 11, 300];
        for (kind, length) in (31..=39).flat_map(|kind| short_and_long.map(|len| (kind, len))) {
            assert_eq!(
                Message::decode(kind, &vec![0; length]),
                None,
                "{kind} {length}"
            );
        }
        assert_eq!(Message::decode(37, &[0, 0, 0, 0, 5]), None, "attempt 0");
        assert_eq!(Message::decode(37, &[1, 0, 0, 0, 0]), None, "nobody");
        assert_eq!(Message::decode(34, b"c2sp.org/tlog-proof@v1\n"), None);
    }
}
