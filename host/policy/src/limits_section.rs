//! `[backend.limits]` as operators write it: any keys, so what serde finds for other sections is found here.

use std::collections::BTreeMap;

use super::limits::Limits;
use super::unknown::Unknown;
use super::{Problems, grants, sections, units};

/// Takes out the limits that there are none of, of the backend at this place in the file.
pub(super) fn unknown(backend: usize, values: &mut BTreeMap<String, toml::Value>) -> Vec<Unknown> {
    let known: Vec<_> = sections::limits().into_iter().map(|row| row.key).collect();
    let mut unknown = Vec::new();
    values.retain(|key, _| {
        let is_known = known.contains(&key.as_str());
        if !is_known {
            unknown.push(Unknown::limit(backend, key));
        }
        is_known
    });
    unknown
}

/// The limits of a section, with defaults for the others.
pub(super) fn read(values: BTreeMap<String, toml::Value>, place: &str, problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    for (key, value) in values {
        let place = format!("{place}.limits.{key}");
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        problems.take(&place, set(&mut limits, &key, &text));
    }
    limits
}

fn set(limits: &mut Limits, key: &str, text: &str) -> Result<(), String> {
    let count = || text.parse::<usize>().ok().filter(|n| *n > 0).ok_or("write a number greater than 0");
    match key {
        "memory" => limits.memory = units::size(text)?,
        "memory-total" => limits.memory_total = units::size(text)?,
        "cpu" => limits.cpu = units::time(text)?,
        "read-time" => limits.wall.read = units::time(text)?,
        "change-time" => limits.wall.change = units::time(text)?,
        "probe-time" => limits.wall.probe = units::time(text)?,
        "step-time" => limits.wall.step = units::time(text)?,
        "recovery-time" => limits.wall.recovery = units::time(text)?,
        "load-time" => limits.wall.load = units::time(text)?,
        "calls" => limits.calls = count()?.clamp(2, 1000),
        "crossing" => limits.crossing = units::size(text)?,
        "crossing-total" => limits.crossing_total = units::size(text)?,
        "log-rate" => limits.log_rate = units::size(text)?,
        "log-burst" => limits.log_burst = units::size(text)?,
        "state" => limits.state = units::size(text)?,
        "state-waiting" => limits.state_waiting = units::size(text)?,
        "handles" => limits.handles = count()?,
        "open-files" => limits.open_files = count()?,
        "node-devices" => limits.node_devices = count()?,
        "table-elements" => limits.table_elements = u64::try_from(count()?).unwrap_or(u64::MAX),
        "jobs" => limits.jobs = count()?,
        "compile-memory" => limits.compile_memory = units::size(text)?,
        "compile-time" => limits.compile_time = units::time(text)?,
        "failures" => limits.failures = u32::try_from(count()?).unwrap_or(u32::MAX),
        _ if grants::set_limit(limits, key, text)? => {}
        _ => return Err("there is no such limit".to_owned()),
    }
    Ok(())
}
