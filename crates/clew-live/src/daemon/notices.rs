//! What an administrator should know now: each said once, and gone when it is over.

use crate::status::Notice;

/// Most events that are kept for `clew status`.
const EVENTS_MAX: usize = 32;

/// How long an event is shown, in seconds.
const EVENT_SHOWN: u64 = 3_600;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Files that were refused.
    Files,
    /// Why the program around the daemon cannot keep something.
    Kept,
    /// What else that program cannot do.
    Program,
    /// Why nobody will know after a crash what was accepted.
    Accepted,
    /// Why packets of a group are refused, whoever signed them.
    Refused,
    /// Why nothing is signed.
    Signer,
    /// Verifiers that stand still.
    Verifiers,
    /// The process of the kernel's queue.
    Queue,
    /// Whether something keeps the clock right.
    ClockKept,
    /// How wrong the clock may be.
    ClockError,
    /// Something that happened, and is over after a while.
    Event,
}

/// The notices, in the order in which they were said.
#[derive(Debug, Default)]
pub(super) struct Notices(Vec<(Topic, Notice)>);

impl Notices {
    /// Takes what is so at a time, in seconds since 1970. `None` if nothing is wrong any more. Returns
    /// whether it is new.
    pub fn set(&mut self, topic: Topic, text: Option<&str>, now: u64) -> bool {
        let is_same = |(about, notice): &(Topic, Notice)| {
            *about == topic && Some(notice.text.as_str()) == text
        };
        if self.0.iter().any(is_same) {
            return false;
        }
        self.0.retain(|(about, _)| *about != topic);
        self.0.extend(text.map(|text| (topic, notice(text, now))));
        text.is_some()
    }

    /// Returns whether there is a notice.
    pub fn has(&self, topic: Topic) -> bool {
        self.0.iter().any(|(about, _)| *about == topic)
    }

    /// Takes something that happened.
    pub fn event(&mut self, text: &str, now: u64) {
        let is_event = |(about, _): &&(Topic, Notice)| *about == Topic::Event;
        if self.0.iter().filter(is_event).count() == EVENTS_MAX
            && let Some(oldest) = self.0.iter().position(|(about, _)| *about == Topic::Event)
        {
            self.0.remove(oldest);
        }
        self.0.push((Topic::Event, notice(text, now)));
    }

    /// Forgets events that are long over.
    pub fn forget(&mut self, now: u64) {
        let is_kept = |(about, notice): &(Topic, Notice)| {
            *about != Topic::Event || now.saturating_sub(notice.time) < EVENT_SHOWN
        };
        self.0.retain(is_kept);
    }

    /// Returns them all.
    pub fn all(&self) -> Vec<Notice> {
        self.0.iter().map(|(_, notice)| notice.clone()).collect()
    }
}

fn notice(text: &str, time: u64) -> Notice {
    let text = text.to_owned();
    Notice { time, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(notices: &Notices) -> Vec<(u64, String)> {
        let all = notices.all().into_iter();
        all.map(|notice| (notice.time, notice.text)).collect()
    }

    #[test]
    fn a_notice_has_a_time_and_goes_when_it_is_over() {
        let mut notices = Notices::default();
        assert!(notices.set(Topic::Files, Some("bad"), 10));
        assert!(!notices.set(Topic::Files, Some("bad"), 11), "said once");
        assert!(notices.set(Topic::Signer, Some("revoked"), 12));
        assert!(notices.set(Topic::Files, Some("worse"), 13));
        let now = [(12, "revoked".to_owned()), (13, "worse".to_owned())];
        assert_eq!(texts(&notices), now);
        assert!(!notices.set(Topic::Signer, None, 14));
        assert!(!notices.set(Topic::Files, None, 15));
        assert!(texts(&notices).is_empty());
        assert!(notices.set(Topic::Files, Some("bad"), 16), "said again");
    }

    #[test]
    fn events_go_after_an_hour_and_are_bounded() {
        let mut notices = Notices::default();
        notices.set(Topic::Signer, Some("revoked"), 0);
        (0..40).for_each(|second| notices.event("a step", second));
        assert_eq!(notices.all().len(), EVENTS_MAX + 1);
        assert_eq!(texts(&notices)[1].0, 8, "the oldest went");
        notices.forget(EVENT_SHOWN + 30);
        assert_eq!(notices.all().len(), 1 + 9);
        notices.forget(EVENT_SHOWN * 2);
        assert_eq!(texts(&notices), [(0, "revoked".to_owned())]);
    }
}
