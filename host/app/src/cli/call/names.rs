//! From what a person types to a method of the contracts. Pure.

use prost_reflect::{DescriptorPool, MethodDescriptor};

/// The package that is meant where several have a method of the same name.
const PREFERRED: &str = "csi.v1";
/// How many names are proposed.
const PROPOSALS: usize = 5;

/// There is no such method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no method `{asked}`; did you mean one of these?\n  {}", .near.join("\n  "))]
pub(super) struct Unknown {
    asked: String,
    near: Vec<String>,
}

/// The method called `name`: `SERVICE/METHOD`, with or without the service's package.
///
/// # Errors
/// `Unknown`, with the names that are nearest.
pub(super) fn resolve(pool: &DescriptorPool, name: &str) -> Result<MethodDescriptor, Unknown> {
    let asked = name.trim_start_matches('/');
    let (service, method) = asked.split_once('/').unwrap_or((asked, ""));
    let mut found: Vec<_> = methods(pool)
        .filter(|m| m.name() == method)
        .filter(|m| m.parent_service().full_name() == service || m.parent_service().name() == service)
        .collect();
    found.sort_by_key(|m| m.parent_service().package_name() != PREFERRED);
    found.into_iter().next().ok_or_else(|| Unknown { asked: asked.to_owned(), near: near(pool, asked) })
}

fn methods(pool: &DescriptorPool) -> impl Iterator<Item = MethodDescriptor> {
    pool.services().flat_map(|service| service.methods().collect::<Vec<_>>())
}

/// The full names nearest to `asked`, nearest first.
fn near(pool: &DescriptorPool, asked: &str) -> Vec<String> {
    let asked = asked.to_lowercase();
    let mut ranked: Vec<_> = methods(pool)
        .map(|method| {
            let service = method.parent_service();
            let full = format!("{}/{}", service.full_name(), method.name());
            let short = format!("{}/{}", service.name(), method.name());
            let ways = [full.as_str(), &short, method.name()];
            let nearest = ways.iter().map(|way| distance(&asked, &way.to_lowercase())).min();
            (nearest, service.package_name() != PREFERRED, full)
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(PROPOSALS).map(|(_, _, full)| full).collect()
}

/// How many letters must be put in, taken out or changed to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<_> = b.chars().collect();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (other, pair) in b.iter().zip(above.windows(2)) {
            let ([diagonal, up], Some(left)) = (pair, row.last()) else { continue };
            let change = diagonal + usize::from(letter != *other);
            row.push(change.min(up + 1).min(left + 1));
        }
        above = row;
    }
    above.last().copied().unwrap_or_default()
}
