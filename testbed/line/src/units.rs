//! Times, amounts, queues and shares as people write them.

use crate::Queue;
use std::time::Duration;

/// Reads a time: 250us, 10ms, 1.5s.
pub fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))
        .ok_or("a time is written 250us, 10ms or 1s")?;
    let seconds: f64 = number
        .parse()
        .map_err(|_| format!("{number} is not a number"))?;
    Duration::try_from_secs_f64(seconds * unit).map_err(|error| error.to_string())
}

/// Reads an amount: 1200, 64K, 300M, 1G, with `thousand` for K.
pub fn amount(text: &str, thousand: u64) -> Result<u64, String> {
    let power = ["K", "M", "G"].iter().position(|unit| text.ends_with(unit));
    let number = text.trim_end_matches(['K', 'M', 'G']);
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{number} is not a number"))?;
    let unit = power.map_or(1, |power| thousand.pow(power as u32 + 1));
    match number > 0.0 && number.is_finite() {
        true => Ok((number * unit as f64) as u64),
        false => Err("an amount is above 0".into()),
    }
}

/// Reads the maximum of a queue: 64K (bytes), or 5ms of the rate.
pub fn queue(text: &str) -> Result<Queue, String> {
    match text.ends_with('s') {
        true => time(text).map(Queue::Time),
        false => amount(text, 1024).map(Queue::Bytes),
    }
}

/// Reads per cent as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text
        .parse()
        .map_err(|_| format!("{text} is not a number"))?;
    match (0.0..100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err("per cent are from 0 to below 100".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(time("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(amount("300M", 1000), Ok(300_000_000));
        assert_eq!(amount("64K", 1024), Ok(65_536));
        assert_eq!(percent("0.5"), Ok(0.005));
        assert_eq!(queue("64K"), Ok(Queue::Bytes(65_536)));
        assert_eq!(queue("5ms"), Ok(Queue::Time(Duration::from_millis(5))));
    }

    #[test]
    fn what_is_not_one_is_refused() {
        assert!(time("10").is_err() && time("-1s").is_err() && time("xs").is_err());
        assert!(amount("0", 1000).is_err() && amount("inf", 1000).is_err());
        assert!(percent("100").is_err() && percent("-1").is_err());
    }
}
