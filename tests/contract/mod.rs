//! Holds the served gRPC contract to the facts of the released protocols, in both directions. It
//! judges descriptors only and calls nothing. Why: a wrong number or type in `proto/` compiles, and
//! two programs built from it understand each other perfectly, so nothing but an independent list
//! can show the mistake.

mod described;
mod facts;

use std::collections::BTreeMap;

use drivebay_proto::FILE_DESCRIPTOR_SET;
use facts::Facts;
use prost::Message as _;
use prost_reflect::DescriptorPool;

/// One entry for each thing that a client can notice: its name, and what is said of it.
pub type Lines = BTreeMap<String, String>;

/// Everything in which the descriptors and the facts disagree, in words; empty when they agree.
pub fn differences(pool: &DescriptorPool, facts: &Facts) -> Vec<String> {
    compare(&described::lines(pool), &facts.lines())
}

fn compare(described: &Lines, facts: &Lines) -> Vec<String> {
    let ours = described.iter().filter_map(|(name, ours)| match facts.get(name) {
        Some(theirs) if ours == theirs => None,
        Some(theirs) => Some(format!("{name}\n    proto: {ours}\n    facts: {theirs}")),
        None => Some(format!("{name} is in proto only: {ours}")),
    });
    let missing = facts.iter().filter(|(name, _)| !described.contains_key(*name));
    ours.chain(missing.map(|(name, theirs)| format!("{name} is missing in proto: {theirs}"))).collect()
}

fn pool() -> anyhow::Result<DescriptorPool> {
    Ok(DescriptorPool::decode(FILE_DESCRIPTOR_SET)?)
}

#[test]
fn the_served_contract_is_the_released_one() -> anyhow::Result<()> {
    let found = differences(&pool()?, &Facts::read()?);
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    Ok(())
}

#[test]
fn the_facts_cover_all_services() -> anyhow::Result<()> {
    let lines = Facts::read()?.lines();
    let count = |kind: &str| lines.keys().filter(|name| name.starts_with(kind)).count();
    assert_eq!((count("service "), count("method ")), (12, 58));
    let streams = lines.values().filter(|line| line.contains("server-stream")).count();
    assert_eq!(streams, 2);
    Ok(())
}

#[test]
fn a_fact_left_out_is_noticed() -> anyhow::Result<()> {
    let (described, mut facts) = (described::lines(&pool()?), Facts::read()?);
    for table in 0..facts.tables().len() {
        for row in 0..facts.tables()[table].len() {
            let removed = facts.tables()[table].remove(row);
            let noticed = !compare(&described, &facts.lines()).is_empty();
            // A reserved number that an older client's field takes up is said by that field's line
            // alone.
            assert!(noticed || removed.is_reserved(), "nobody misses {removed:?}");
            facts.tables()[table].insert(row, removed);
        }
    }
    Ok(())
}

#[test]
fn a_changed_cell_is_noticed_in_every_row() -> anyhow::Result<()> {
    let described = described::lines(&pool()?);
    for table in 0..Facts::read()?.tables().len() {
        for column in Facts::read()?.tables()[table][0].telling_columns() {
            let mut facts = Facts::read()?;
            let rows = facts.tables()[table].iter_mut().filter(|row| row.names_something());
            let changed = rows.map(|row| row.set(column, "77")).count();
            // A number taken from an older client's field is reserved again, which is a line of its
            // own.
            let mut found = compare(&described, &facts.lines());
            found.retain(|line| !line.starts_with("reserved "));
            assert_eq!(found.len(), changed, "{column}:\n{}", found.join("\n"));
        }
    }
    Ok(())
}

#[test]
fn descriptors_that_lost_a_field_and_all_markings_are_noticed() -> anyhow::Result<()> {
    // Decoding with prost alone drops what it does not know, which is every custom option.
    let mut set = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    let messages = set.file.iter_mut().flat_map(|file| &mut file.message_type);
    for topology in messages.filter(|message| message.name() == "Topology") {
        topology.field.clear();
    }
    let found = differences(&DescriptorPool::from_file_descriptor_set(set)?, &Facts::read()?);

    let expected = Facts::read()?.marked_lines() + 1;
    assert_eq!(found.len(), expected, "{}", found.join("\n"));
    let missing = "field csi.v1.Topology.segments is missing in proto";
    assert!(found.iter().any(|line| line.starts_with(missing)), "{}", found.join("\n"));
    Ok(())
}
