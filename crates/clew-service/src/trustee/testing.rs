//! A trustee's directory in memory, for tests.

use super::{Docket, DocketError, Kind, Matter, Ordered, Packet, Packets, Standing};
use clew_wire::WallTime;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Matters, what was ordered, what was told.
pub(super) struct FakeDocket {
    pub(super) key: [u8; 32],
    pub(super) matters: Mutex<Vec<Matter>>,
    pub(super) ordered: Mutex<Vec<Ordered>>,
    pub(super) told: Mutex<Vec<String>>,
    pub(super) trouble: Mutex<Option<String>>,
}

pub(super) fn matter(kind: Kind, number: u8) -> Matter {
    Matter {
        kind,
        id: clew_wire::Hex(&[number; 32]).to_string(),
        title: "opening, for <b>police</b>".to_owned(),
        state: "waiting",
        waits: true,
        may_approve: true,
        may_refuse: true,
        facts: vec![("reference".to_owned(), "4 KLs\u{202e} 17/26".to_owned())],
        trouble: None,
        seen: [number; 32],
    }
}

impl FakeDocket {
    pub(super) fn new(key: [u8; 32], requests: u8) -> Self {
        let matters = (1..=requests).map(|number| matter(Kind::Request, number));
        Self {
            key,
            matters: Mutex::new(matters.collect()),
            ordered: Mutex::default(),
            told: Mutex::default(),
            trouble: Mutex::default(),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Docket for FakeDocket {
    fn name(&self) -> String {
        "alice".to_owned()
    }

    fn group(&self) -> String {
        "acme".to_owned()
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn matters(&self, kind: Kind) -> Result<Vec<Matter>, DocketError> {
        let matters = lock(&self.matters);
        let own = matters.iter().filter(|matter| matter.kind == kind);
        Ok(own.cloned().collect())
    }

    fn matter(&self, kind: Kind, id: &str) -> Result<Matter, DocketError> {
        let mut all = self.matters(kind)?.into_iter();
        all.find(|matter| matter.id == id).ok_or(DocketError::None)
    }

    fn packets(&self, id: &str) -> Result<Packets, DocketError> {
        self.matter(Kind::Request, id)?;
        let first = vec![Packet {
            frame: 1,
            time: Some(WallTime::from_nanos(1_800_000_000_000_000_000)),
            bytes: 60,
            flow: "192.0.2.1:1 > 192.0.2.2:2".to_owned(),
            is_covered: true,
        }];
        let (capture, count) = (b"pcap".to_vec(), 2);
        Ok(Packets {
            capture,
            first,
            count,
        })
    }

    fn order(&self, ordered: &Ordered) -> Result<(), DocketError> {
        let matter = self.matter(ordered.kind, &ordered.id)?;
        if matter.seen != ordered.seen {
            return Err(DocketError::Changed);
        }
        lock(&self.ordered).push(ordered.clone());
        Ok(())
    }

    fn rules(&self) -> Vec<&'static str> {
        vec!["operator", "warrant-expired"]
    }

    fn standing(&self) -> Standing {
        Standing {
            answered: Some(Instant::now()),
            trouble: lock(&self.trouble).clone(),
        }
    }

    fn untold(&self) -> Result<Vec<(Kind, String)>, DocketError> {
        let (matters, told) = (lock(&self.matters), lock(&self.told));
        let untold = matters.iter().filter(|own| !told.contains(&own.id));
        Ok(untold.map(|own| (own.kind, own.id.clone())).collect())
    }

    fn set_told(&self, told: &[(Kind, String)]) -> Result<(), DocketError> {
        let ids = told.iter().map(|(_, id)| id.clone());
        lock(&self.told).extend(ids);
        Ok(())
    }
}
