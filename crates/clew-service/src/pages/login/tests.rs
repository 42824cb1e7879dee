use super::*;
use ed25519_dalek::SigningKey;

const PIN: [u8; 32] = [0; 32];

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn answer(logins: &Logins, number: u8, now: Instant) -> LoginAnswer {
    LoginAnswer::sign(logins.challenge(now).unwrap(), &PIN, &key(number))
}

fn link(logins: &mut Logins, number: u8, now: Instant) -> String {
    let answer = answer(logins, number, now);
    logins.link(&answer, now).unwrap()
}

#[test]
fn a_link_is_followed_once_and_soon() {
    let now = Instant::now();
    let mut logins = Logins::new(None, now).unwrap();
    let first = link(&mut logins, 1, now);
    assert_eq!(
        logins.key_of_link(&first, now),
        Some(key(1).verifying_key().to_bytes())
    );
    let cookie = logins.enter(&first, now).unwrap();
    assert_eq!(logins.enter(&first, now), Err(Refused::Link));
    assert_eq!(
        logins.session(&cookie, now).unwrap().key,
        key(1).verifying_key().to_bytes()
    );
    let late = link(&mut logins, 1, now);
    assert_eq!(
        logins.enter(&late, now + LINK_TIME + Duration::from_millis(1)),
        Err(Refused::Link)
    );
    assert_eq!(logins.enter("", now), Err(Refused::Link));
    // A link is not a cookie.
    let other = link(&mut logins, 1, now);
    assert_eq!(logins.session(&other, now), None);
}

#[test]
fn an_answer_counts_once_soon_and_for_this_service() {
    let now = Instant::now();
    let mut logins = Logins::new(None, now).unwrap();
    let own = answer(&logins, 1, now);
    let mut forged = own;
    forged.key = key(2).verifying_key().to_bytes();
    assert_eq!(logins.check(&forged, now), Err(Refused::Signature));
    let other_pin = LoginAnswer::sign(own.challenge, &[1; 32], &key(1));
    assert_eq!(logins.check(&other_pin, now), Err(Refused::Signature));
    let own_challenge = LoginAnswer::sign([7; CHALLENGE_BYTES], &PIN, &key(1));
    assert_eq!(logins.check(&own_challenge, now), Err(Refused::Challenge));
    let restarted = Logins::new(None, now).unwrap();
    assert_eq!(restarted.check(&own, now), Err(Refused::Challenge));
    let late = now + CHALLENGE_TIME + Duration::from_millis(1);
    assert_eq!(logins.check(&own, late), Err(Refused::Challenge));
    logins.link(&own, now).unwrap();
    assert_eq!(logins.link(&own, now), Err(Refused::Challenge));
}

#[test]
fn sessions_end_by_time_by_rest_and_by_leaving() {
    let now = Instant::now();
    let mut logins = Logins::new(None, now).unwrap();
    let enter = |logins: &mut Logins| {
        let link = link(logins, 1, now);
        logins.enter(&link, now).unwrap()
    };
    let rested = enter(&mut logins);
    assert!(logins.session(&rested, now + IDLE_TIME).is_some());
    let later = now + IDLE_TIME + IDLE_TIME + Duration::from_secs(1);
    assert_eq!(logins.session(&rested, later), None);
    let used = enter(&mut logins);
    let mut time = now;
    while time <= now + SESSION_TIME {
        assert!(logins.session(&used, time).is_some());
        time += IDLE_TIME;
    }
    assert_eq!(logins.session(&used, time), None);
    let left = enter(&mut logins);
    logins.leave(&left);
    assert_eq!(logins.session(&left, now), None);
}

#[test]
fn a_token_is_of_one_session() {
    let now = Instant::now();
    let mut logins = Logins::new(None, now).unwrap();
    let mut enter = |number| {
        let link = link(&mut logins, number, now);
        let cookie = logins.enter(&link, now).unwrap();
        let token = logins.session(&cookie, now).unwrap().token;
        (cookie, token)
    };
    let (first, second) = (enter(1), enter(1));
    assert!(logins.is_token(&first.0, &first.1));
    assert!(!logins.is_token(&second.0, &first.1));
    assert!(!logins.is_token(&first.0, ""));
    assert!(!logins.is_token(&first.0, &first.1[1..]));
}

#[test]
fn sessions_links_and_attempts_are_bounded() {
    let now = Instant::now();
    let mut logins = Logins::new(None, now).unwrap();
    let mut cookies = Vec::new();
    for _ in 0..=SESSIONS_OF_KEY_MAX {
        let link = link(&mut logins, 1, now);
        cookies.push(logins.enter(&link, now).unwrap());
    }
    // The oldest gave way, and no other.
    assert_eq!(logins.session(&cookies[0], now), None);
    assert!(logins.session(&cookies[1], now).is_some());
    assert_eq!(logins.count(now), SESSIONS_OF_KEY_MAX);
    let later = now + 2 * CHALLENGE_TIME + Duration::from_secs(1);
    for number in 0..2 * ANSWERS_OF_KEY_MAX {
        let answer = answer(&logins, 1, later);
        assert_eq!(
            logins.link(&answer, later).is_ok(),
            number < ANSWERS_OF_KEY_MAX
        );
    }
    assert_eq!(logins.links.len(), LINKS_OF_KEY_MAX);
    // Whoever logs in without end keeps nobody else out.
    let other = link(&mut logins, 2, later);
    assert!(logins.enter(&other, later).is_ok());
    let from = |number: u32| IpAddr::from(number.to_be_bytes());
    for _ in 0..ATTEMPTS_MAX {
        logins.attempt(from(1), now).unwrap();
    }
    assert_eq!(logins.attempt(from(1), now), Err(Refused::TooMany));
    assert_eq!(logins.attempt(from(2), now), Ok(()));
    assert_eq!(logins.attempt(from(1), now + ATTEMPTS_TIME), Ok(()));
    for number in 0..3 * HOSTS_MAX as u32 {
        let _ = logins.attempt(from(number), now);
    }
    assert!(logins.attempts.len() <= HOSTS_MAX + 1);
}
