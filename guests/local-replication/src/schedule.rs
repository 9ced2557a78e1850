//! When the next cut is due.
//!
//! Pure arithmetic on a grid of moments. If several moments have passed, one cut makes up for all of them.

use local_pool::record::Moment;
use serde::{Deserialize, Serialize};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Where the grid begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Start {
    /// Seconds after midnight, UTC; less than a day. Counted from the last such moment before the
    /// schedule came into force.
    Daily(i64),
    /// Seconds since 1970: nothing is due before.
    At(i64),
}

/// When the next cut is due after the one at `last`. `since`: when the schedule came into force.
pub(crate) fn next_due(start: Option<Start>, interval: u64, since: Moment, last: Moment) -> Moment {
    let step = i64::try_from(interval.max(1)).unwrap_or(i64::MAX);
    let anchor = match start {
        None => since.seconds,
        Some(Start::At(moment)) => moment,
        Some(Start::Daily(time)) => {
            let midnight = since.seconds.saturating_sub(since.seconds.rem_euclid(DAY));
            let today = midnight.saturating_add(time);
            if today > since.seconds { today.saturating_sub(DAY) } else { today }
        }
    };
    let passed = last.seconds.saturating_sub(anchor);
    let steps = if passed < 0 { 0 } else { passed.div_euclid(step).saturating_add(1) };
    Moment { seconds: anchor.saturating_add(steps.saturating_mul(step)), nanoseconds: 0 }
}

/// Reads `14:00`, `14:00:00`, either with `Z` or `-05:00` behind it, or with a date before it.
pub(crate) fn parse_start(text: &str) -> Option<Start> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (Some(parse_date(date)?), time),
        None => (None, text),
    };
    let (clock, offset) = split_offset(time)?;
    let seconds = parse_clock(clock)?.checked_sub(offset)?;
    Some(match date {
        Some(days) => Start::At(days.checked_mul(DAY)?.checked_add(seconds)?),
        None => Start::Daily(seconds.rem_euclid(DAY)),
    })
}

fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    match time.rfind(['+', '-']) {
        None => Some((time, 0)),
        Some(at) => {
            let (clock, offset) = time.split_at(at);
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            Some((clock, sign * parse_clock(offset.get(1..)?)?))
        }
    }
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut seconds = 0;
    let mut parts = text.split(':');
    for (unit, limit) in [(3_600, 24), (60, 60), (1, 60)] {
        match parts.next() {
            Some(part) => seconds += unit * two_digits(part, limit)?,
            // Seconds may be left out, minutes may not.
            None if unit == 1 => {}
            None => return None,
        }
    }
    parts.next().is_none().then_some(seconds)
}

fn two_digits(text: &str, limit: i64) -> Option<i64> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number < limit)
}

/// Days since 1970 of a date of the Gregorian calendar.
fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = parts.next().is_none() && year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let year: i64 = year.parse().ok().filter(|year| plain && *year >= 1970)?;
    let (month, day) = (two_digits(month, 13)?, two_digits(day, 32)?);
    let days = days_of(month, is_leap(year))?;
    if day < 1 || day > days {
        return None;
    }
    let whole_years: i64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let whole_months: i64 = (1..month).filter_map(|month| days_of(month, is_leap(year))).sum();
    Some(whole_years + whole_months + day - 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(month: i64, leap: bool) -> Option<i64> {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if leap { 29 } else { 28 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
