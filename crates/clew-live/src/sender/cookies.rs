//! The sender's side of cookies: `spec/carriers.md` 5.

use super::Outbound;
use crate::packet::CookieMessage;
use clew_packet::datagram::{Cookie, Echo};
use clew_tree::LruMap;
use clew_wire::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Most echoes that are remembered for a peer, each for [`COOKIE_ANSWER_MAX`].
pub const ECHOES_MAX: usize = 4_096;
/// How long after a datagram its answer is taken.
pub const COOKIE_ANSWER_MAX: Duration = Duration::from_secs(5);
/// Most cookies of a peer that are shown in turn.
pub const COOKIES_MAX: usize = 4;
/// How long a cookie is shown.
pub const COOKIE_USE: Duration = Duration::from_secs(120);

/// What was sent to an address, and the cookie that it gave.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    echoes: LruMap<Echo, Instant>,
    /// The packets of a block have one.
    last: Option<(Echo, Instant)>,
    /// The newest, and when each came last. Whoever sees datagrams can answer them in the peer's name:
    /// so a new one stands beside the others, not in their place.
    cookies: VecDeque<(Cookie, Instant)>,
    /// How many datagrams showed one.
    shown: usize,
}

impl Outbound {
    /// Forgets datagrams that no cookie answers any more. Call it about once a second.
    pub fn forget_echoes(&mut self, now: Instant) {
        self.peers
            .values_mut()
            .for_each(|peer| peer.cookies.forget_echoes(now));
    }
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

    /// Forgets what no cookie answers any more. What is remembered is in the order of its times.
    fn forget_echoes(&mut self, now: Instant) {
        let is_old = |at: &Instant| now - *at > COOKIE_ANSWER_MAX;
        while let Some(oldest) = self.echoes.oldest()
            && self.echoes.get(&oldest).is_some_and(is_old)
        {
            self.echoes.pop_oldest();
        }
    }

    /// Takes a cookie. Returns whether it answers what was sent.
    pub fn accept(&mut self, message: &CookieMessage, now: Instant) -> bool {
        let sent = self.echoes.get(&message.echo);
        let is_answer = sent.is_some_and(|at| now - *at <= COOKIE_ANSWER_MAX);
        if is_answer {
            self.cookies.retain(|(known, _)| *known != message.cookie);
            self.cookies.truncate(COOKIES_MAX - 1);
            self.cookies.push_front((message.cookie, now));
        }
        is_answer
    }

    /// Returns the cookie to show: each in its turn.
    pub fn next(&mut self, now: Instant) -> Option<Cookie> {
        self.cookies.retain(|(_, since)| now - *since < COOKIE_USE);
        self.shown = self.shown.wrapping_add(1);
        let turn = self.shown.checked_rem(self.cookies.len())?;
        self.cookies.get(turn).map(|(cookie, _)| *cookie)
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
        assert_eq!(cookies.next(at(5_001)), None);
        assert!(cookies.accept(&message(1), at(5_000)));
        assert_eq!(cookies.next(at(124_999)), Some([9; 16]));
        assert_eq!(cookies.next(at(125_000)), None, "two minutes are over");
    }

    #[test]
    fn false_cookies_stand_beside_the_good_one() {
        let mut cookies = Cookies::default();
        cookies.sent([1; 16], at(0));
        assert!(cookies.accept(&message(1), at(1)));
        for last in 0..3 {
            let cookie = [last; 16];
            let echo = [1; 16];
            assert!(cookies.accept(&CookieMessage { echo, cookie }, at(2)));
        }
        let good = |cookies: &mut Cookies| {
            let shown = (0..100).filter_map(|_| cookies.next(at(3)));
            shown.filter(|cookie| *cookie == [9; 16]).count()
        };
        assert_eq!(good(&mut cookies), 25, "each in its turn");
        assert!(cookies.accept(&message(1), at(3)), "it came again");
        assert_eq!(cookies.cookies.len(), COOKIES_MAX);
        let (cookie, echo) = ([7; 16], [1; 16]);
        assert!(cookies.accept(&CookieMessage { echo, cookie }, at(3)));
        assert_eq!(cookies.cookies.len(), COOKIES_MAX, "the oldest made room");
        assert_eq!(good(&mut cookies), 25);
    }

    #[test]
    fn echoes_are_forgotten_when_no_cookie_answers_them() {
        let mut cookies = Cookies::default();
        cookies.sent([1; 16], at(0));
        cookies.sent([2; 16], at(1));
        // It was sent again.
        cookies.sent([1; 16], at(3_000));
        cookies.forget_echoes(at(5_001));
        assert_eq!(cookies.echoes.count(), 2, "none is too old");
        cookies.forget_echoes(at(5_002));
        assert_eq!(cookies.echoes.count(), 1);
        assert!(cookies.accept(&message(1), at(5_002)));
        cookies.forget_echoes(at(8_001));
        assert_eq!(cookies.echoes.count(), 0);
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
