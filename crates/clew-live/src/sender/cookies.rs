//! The sender's side of cookies: `spec/carriers.md` 5.

use crate::packet::CookieMessage;
use clew_packet::datagram::{Cookie, Echo};
use clew_tree::LruMap;
use clew_wire::Instant;
use std::time::Duration;

/// Most echoes that are remembered for a peer.
pub const ECHOES_MAX: usize = 4_096;
/// How long after a datagram its answer is taken.
pub const COOKIE_ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long a cookie is shown.
pub const COOKIE_USE: Duration = Duration::from_secs(120);

/// What was sent to an address, and the cookie that it gave.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    echoes: LruMap<Echo, Instant>,
    /// The packets of a block have one.
    last: Option<(Echo, Instant)>,
    cookie: Option<(Cookie, Instant)>,
}

impl Cookies {
    /// Takes note of a datagram that is sent.
    pub fn sent(&mut self, echo: Echo, now: Instant) {
        if self.last.replace((echo, now)) == Some((echo, now)) {
            return;
        }
        *self.echoes.entry(echo, || now) = now;
        if self.echoes.count() > ECHOES_MAX {
            self.echoes.pop_oldest();
        }
    }

    /// Takes a cookie. Returns whether it answers what was sent.
    pub fn accept(&mut self, message: &CookieMessage, now: Instant) -> bool {
        let sent = self.echoes.get(&message.echo);
        let is_answer = sent.is_some_and(|at| now - *at <= COOKIE_ANSWER_MAX);
        if is_answer {
            self.cookie = Some((message.cookie, now));
        }
        is_answer
    }

    /// Returns the cookie to show.
    pub fn current(&self, now: Instant) -> Option<&Cookie> {
        let (cookie, since) = self.cookie.as_ref()?;
        (now - *since < COOKIE_USE).then_some(cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn message(echo: u8) -> CookieMessage {
        let (echo, cookie) = ([echo; 16], [9; 16]);
        CookieMessage { echo, cookie }
    }

    #[test]
    fn a_cookie_answers_what_was_sent_lately() {
        let mut cookies = Cookies::default();
        cookies.sent([1; 16], at(0));
        assert!(!cookies.accept(&message(2), at(1)), "nobody sent that");
        assert!(!cookies.accept(&message(1), at(5_001)), "too late");
        assert_eq!(cookies.current(at(5_001)), None);
        assert!(cookies.accept(&message(1), at(5_000)));
        assert_eq!(cookies.current(at(124_999)), Some(&[9; 16]));
        assert_eq!(cookies.current(at(125_000)), None, "two minutes are over");
    }

    #[test]
    fn echoes_are_bounded() {
        let mut cookies = Cookies::default();
        for number in 0..=ECHOES_MAX as u128 {
            cookies.sent(number.to_be_bytes(), at(0));
        }
        assert_eq!(cookies.echoes.count(), ECHOES_MAX);
        assert!(
            !cookies.accept(&message(0), at(1)),
            "the first is forgotten"
        );
    }
}
