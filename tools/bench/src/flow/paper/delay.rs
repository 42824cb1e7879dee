//! Table 1 and section 2.5: how long a packet waits for its signature.

use super::chaining::{self, Side, Way};
use super::quoted::{BLOCKS, CHAINING_16_MS, PERIOD_MS, RSA, TABLE_1};
use super::{Finding, Measured, Table, at, signature_us};
use clew_flow::{Instant, Schedule, delay_bound};
use std::time::Duration;

/// Packets of a period, in the simulation: what the paper's examples have.
const OF_PERIOD: u16 = 16;

/// Periods in the simulation.
const PERIODS: u32 = 2000;

pub fn tables(tables: &mut Vec<Table>, measured: &Measured) -> Vec<Finding> {
    let (bounds, mut findings) = bounds(measured);
    let (periods, finding) = periods(measured);
    tables.extend([bounds, periods]);
    findings.push(finding);
    findings
}

/// What chaining and signing a block takes.
fn work(measured: &Measured, degree: u16, block: u16) -> (Duration, Duration) {
    let chaining = measured.us(&chaining::row(Side::Signer, Way::Blake3, degree, block));
    let [sign, _] = signature_us(measured);
    let us = |us: f64| Duration::from_nanos((us * 1e3) as u64);
    (us(chaining), us(sign))
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn bounds(measured: &Measured) -> (Table, Vec<Finding>) {
    let title = format!(
        "Table 1: bound of the delay D_s in ms for a period of {PERIOD_MS} ms, by packets; least: the smallest possible D_s"
    );
    let columns = ["tree".into()]
        .into_iter()
        .chain(BLOCKS.map(|m| m.to_string()));
    let mut table = Table::new("table-1", title, columns);
    let period = Duration::from_nanos((PERIOD_MS * 1e6) as u64);
    let mut spread = 0.0_f64;
    for (degree, paper) in TABLE_1 {
        let work = BLOCKS.map(|m| work(measured, degree, m));
        let bound = |(chain, sign)| delay_bound(period, chain, sign).map_or(f64::INFINITY, ms);
        let ours = work.map(bound);
        let least = work.map(|(chain, sign)| ms(chain + sign) * 2.0);
        spread = spread.max(ours[6] / ours[0] - 1.0);
        for (who, row, decimals) in [
            ("paper", paper, 1),
            ("here", ours, 3),
            ("here, least", least, 3),
        ] {
            let cells = row.map(|ms| format!("{ms:.decimals$}"));
            table.row(format!("degree {degree}, {who}"), cells);
        }
    }
    let paper = TABLE_1[0].1[6] / TABLE_1[0].1[0] - 1.0;
    let (chain, sign) = work(measured, 2, 16);
    let part = chain.div_duration_f64(sign);
    let papers_part = CHAINING_16_MS[0] / RSA.sign_ms;
    let findings = [
        Finding::new(
            "the bound is fairly insensitive to the size of the block",
            spread <= paper,
            format!(
                "from 2 to 128 packets it grows by {:.2} % (paper: {:.1} %)",
                spread * 100.0,
                paper * 100.0
            ),
        ),
        Finding::new(
            "because chaining is much shorter than signing the block",
            part < 0.1,
            format!(
                "for 16 packets it takes {:.1} % of it (paper: {:.1} %)",
                part * 100.0,
                papers_part * 100.0
            ),
        ),
    ];
    (table, at("table 1", findings))
}

/// Real-time flows over our own schedule: the longest wait of a packet, beside the bound.
fn periods(measured: &Measured) -> (Table, Finding) {
    let (chain, sign) = work(measured, 2, OF_PERIOD);
    let work = chain + sign;
    let us = |time: Duration| format!("{:.1}", ms(time) * 1e3);
    let title = format!(
        "Section 2.5: period and delay in us, {OF_PERIOD} packets in a period, {PERIODS} periods, simulated with our schedule; \
         a block takes {} us",
        us(work)
    );
    let columns = ["T", "D_s", "longest wait, first half", "second half"];
    let mut table = Table::new("section-2.5", title, columns);
    let long = [50_000, 5_000, 1_000, 200]
        .map(Duration::from_micros)
        .into_iter();
    let long = long.filter(|period| *period > 8 * work);
    let short = [8 * work, 4 * work, 2 * work, work + work / 10, work / 2];
    let (mut bounded, mut grows, mut at_first) = (true, true, Duration::ZERO);
    for period in long.chain(short) {
        let bound = delay_bound(period, chain, sign);
        let [start, later] = longest_waits(period, work);
        match bound {
            Some(bound) => {
                bounded &= later <= bound;
                if start > bound {
                    at_first = at_first.max(period);
                }
            }
            None => grows &= later > start * 3 / 2,
        }
        let bound = bound.map_or("none".into(), us);
        table.row(us(period), [bound, us(start), us(later)]);
    }
    let mut because = format!(
        "{} of the second half exceeds its bound, with shorter T waits {}",
        if bounded { "no wait" } else { "a wait" },
        if grows { "grow" } else { "do not grow" }
    );
    if !at_first.is_zero() {
        let most = at_first.div_duration_f64(work);
        because += &format!("; at first T up to {most:.1} (chain + T_sign) exceeds it");
    }
    let says = "no packet waits longer than T + chain + T_sign, if T is longer than chain + T_sign";
    let finding = Finding::new(says, bounded && grows, because);
    let place = "section 2.5".into();
    (table, Finding { place, ..finding })
}

/// The longest wait of a packet in the first half of the periods, and in the second. Packets come
/// evenly, so many in a period that blocks end by time; one signer takes blocks in turn.
fn longest_waits(period: Duration, work: Duration) -> [Duration; 2] {
    let mut schedule = Schedule::new(2 * OF_PERIOD, period, Duration::MAX);
    let start = Instant::default();
    let (mut first, mut free, mut longest) = (None, start, [Duration::ZERO; 2]);
    let mut end = |first: Instant, now: Instant| {
        free = now.max(free) + work;
        let half = usize::from(first - start >= PERIODS / 2 * period);
        longest[half] = longest[half].max(free - first);
    };
    for packet in 0..PERIODS * u32::from(OF_PERIOD) {
        let now = start + packet * period / u32::from(OF_PERIOD);
        let deadline = schedule.deadline().filter(|deadline| *deadline <= now);
        if let (Some(deadline), Some(begun)) = (deadline, first) {
            schedule.tick(deadline);
            end(begun, deadline);
            first = None;
        }
        let begun = *first.get_or_insert(now);
        if schedule.packet(now) {
            end(begun, now);
            first = None;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_bounded_while_the_signer_keeps_up() {
        let period = Duration::from_nanos(1600);
        for work in [100, 800, 1500].map(Duration::from_nanos) {
            let bound = delay_bound(period, Duration::ZERO, work).unwrap();
            let [_, later] = longest_waits(period, work);
            assert!((period..=bound).contains(&later), "{later:?} and {bound:?}");
        }
        let [start, later] = longest_waits(period, 2 * period);
        assert!(start > 100 * period && later > start * 3 / 2);
    }
}
