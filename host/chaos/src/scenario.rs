//! What is played, by names that a person can give again. Pure.

use std::fmt;

use super::client::Ability;
use super::seed::Seed;
use super::world::Fault;

/// As many host calls of one RPC meet faults, at most; a seed chooses which.
const POINTS: usize = 16;
/// As many pairs of faults.
const PAIRS: usize = 6;

/// An RPC that changes a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rpc {
    Create,
    Delete,
    Expand,
}

impl Rpc {
    /// As the host calls it.
    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Create => "CreateVolume",
            Self::Delete => "DeleteVolume",
            Self::Expand => "ControllerExpandVolume",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Expand => "expand",
        }
    }
}

/// One of an RPC's host calls fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blow {
    pub(super) rpc: Rpc,
    /// From 1.
    pub(super) number: usize,
    pub(super) fault: Fault,
    pub(super) name: &'static str,
}

/// What is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Volumes are made, looked at and deleted, and nothing fails.
    Life,
    /// A list is read in pages while it changes.
    Pages,
    /// Clocks stand still, and go back.
    Clocks,
    /// The host is started anew between calls.
    Restart,
    /// These strike one attempt each, before the call is repeated; the host starts anew between.
    Blows { blows: Vec<Blow>, restart: bool },
    /// One call is held at a host call while another one runs.
    Between { held: Blow, other: Rpc },
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Life => f.write_str("life"),
            Self::Pages => f.write_str("pages"),
            Self::Clocks => f.write_str("clocks"),
            Self::Restart => f.write_str("restart"),
            Self::Blows { blows, restart } => {
                let words: Vec<_> = blows.iter().map(|blow| format!("{}-{}", blow.fault.word(), blow.number)).collect();
                let rpc = blows.first().map_or("", |blow| blow.rpc.word());
                write!(f, "{rpc}/{}{}", words.join("+"), if *restart { "/restart" } else { "" })
            }
            Self::Between { held, other } => {
                write!(f, "{}/{}-{}/{}", held.rpc.word(), held.fault.word(), held.number, other.word())
            }
        }
    }
}

/// What there is without looking at the component.
pub(super) fn first(abilities: &[Ability]) -> Vec<Scenario> {
    let pages = abilities.contains(&Ability::ListVolumes).then_some(Scenario::Pages);
    [Scenario::Life].into_iter().chain(pages).chain([Scenario::Clocks, Scenario::Restart]).collect()
}

/// What follows from the host calls of an RPC, the shortest first: a finding is told for the first that shows it.
pub(super) fn of(rpc: Rpc, host_calls: &[&'static str], seed: u64) -> Vec<Scenario> {
    let mut choice = Seed::new(seed, rpc.word());
    let points: Vec<_> = host_calls.iter().enumerate().map(|(index, name)| (index + 1, *name)).collect();
    let points = choice.some_of(POINTS, points);
    let blow = |(number, name), fault| Blow { rpc, number, fault, name };
    let one = |blow, restart| Scenario::Blows { blows: vec![blow], restart };
    let mut all = Vec::new();
    for point in &points {
        all.push(one(blow(*point, Fault::Kill), false));
        if changes(point.1) {
            all.push(one(blow(*point, Fault::Refuse), false));
            all.push(one(blow(*point, Fault::Lose), false));
        }
    }
    all.extend(points.iter().map(|point| one(blow(*point, Fault::Kill), true)));
    let pairs = (0..PAIRS).filter_map(|_| {
        let (first, second) = (choice.one_of(&points)?, choice.one_of(&points)?);
        let blows = vec![blow(first, Fault::Kill), blow(second, Fault::Kill)];
        Some(Scenario::Blows { blows, restart: choice.number().is_multiple_of(2) })
    });
    all.extend(pairs);
    let others = [Rpc::Create, Rpc::Delete].into_iter().filter(|_| rpc != Rpc::Expand);
    for other in others {
        all.extend(points.iter().map(|point| Scenario::Between { held: blow(*point, Fault::Pause), other }));
    }
    all
}

/// Host calls that change something and may fail with an outcome that nobody knows.
fn changes(name: &str) -> bool {
    matches!(name, "state.commit" | "keyvalue.set" | "keyvalue.delete" | "http.handle")
}

#[cfg(test)]
mod tests {
    use super::{Rpc, of};

    #[test]
    fn every_host_call_is_struck_and_changes_in_three_ways() {
        let names: Vec<_> =
            of(Rpc::Create, &["state.get", "state.commit"], 1).iter().map(ToString::to_string).collect();
        for name in
            ["create/kill-1", "create/kill-2/restart", "create/refuse-2", "create/lose-2", "create/pause-2/delete"]
        {
            assert!(names.iter().any(|one| one == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name == "create/refuse-1"), "{names:?}");
    }

    #[test]
    fn a_seed_chooses_of_many() {
        let names =
            |seed| of(Rpc::Delete, &["state.get"; 100], seed).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(1), names(1));
        assert!(names(1) != names(2) && names(1).len() < 100);
    }
}
