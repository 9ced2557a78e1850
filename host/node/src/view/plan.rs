//! From what is to be seen to what is mounted where: follows the operator's links, as the kernel does, and leaves out
//! what is seen anyway.
//!
//! Owns the plan, and the difference between two plans. It must not mount anything; the one thing that it makes is a
//! directory for the host's own files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::probes::PathProbes;
use super::resolved::{ResolvedPath, Source, look};
use super::system::is_everybodys;
use crate::visible::{Visibility, Visible};

/// What is to stand at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A link of the operator's.
    Link(PathBuf),
    /// The file or directory of this path.
    Bind(Bind),
    /// Nothing, in the place of this directory.
    Empty(Source),
}

/// How a file or directory is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: Source,
    pub(super) write: bool,
    /// With what is mounted below it.
    pub(super) below: bool,
    /// By itself, though what is around it is shown: it may be written to, and this may not.
    pub(super) held: bool,
}

/// What is to stand where, by paths without links.
pub(super) type Plan = BTreeMap<PathBuf, Item>;

/// What all of this means on this machine now. What is not there is left out.
pub(super) fn plan<'a>(visible: impl IntoIterator<Item = &'a Visible>, probes: &mut PathProbes) -> Plan {
    let mut plan = Plan::new();
    for visible in visible {
        add(&mut plan, visible, probes);
    }
    let mut plan = without_what_is_seen_anyway(&plan);
    hold_in_place(&mut plan);
    plan
}

fn add(plan: &mut Plan, visible: &Visible, probes: &mut PathProbes) {
    let mut resolved = match visible.how {
        Visibility::Read | Visibility::Write => probes.resolved(&visible.path),
        Visibility::Own | Visibility::Beside | Visibility::Alone | Visibility::Held | Visibility::Hidden => {
            ResolvedPath::of(&visible.path)
        }
    };
    if visible.how == Visibility::Own && resolved.end.is_none() && fs::create_dir_all(&visible.path).is_ok() {
        resolved = ResolvedPath::of(&visible.path);
    }
    if visible.how == Visibility::Hidden {
        plan.extend(resolved.end.map(|(path, source)| (path, Item::Empty(source))));
        return;
    }
    for link in resolved.links {
        let directory =
            link.path.parent().filter(|it| visible.how == Visibility::Beside && link.is_last && !is_everybodys(it));
        match directory.and_then(|directory| Some((directory, look(directory)?))) {
            Some((directory, source)) => bind(plan, directory, source, Visibility::Beside),
            None => drop(plan.insert(link.path, Item::Link(link.target))),
        }
    }
    if let Some((path, source)) = resolved.end {
        let directory = path.parent().filter(|it| visible.how == Visibility::Beside && !is_everybodys(it));
        match directory.and_then(|directory| Some((directory, look(directory)?))) {
            Some((directory, source)) => bind(plan, directory, source, Visibility::Beside),
            None => bind(plan, &path, source, visible.how),
        }
    } else if let Some(directory) =
        resolved.missing_in.filter(|it| visible.how == Visibility::Beside && !is_everybodys(it))
        && let Some(source) = look(&directory)
    {
        bind(plan, &directory, source, Visibility::Beside);
    }
}

fn bind(plan: &mut Plan, path: &Path, source: Source, how: Visibility) {
    if path.parent().is_none() {
        // It would be around everything.
        return;
    }
    let wanted = Bind {
        source,
        write: matches!(how, Visibility::Own | Visibility::Write),
        below: matches!(how, Visibility::Read | Visibility::Write),
        held: how == Visibility::Held,
    };
    match plan.get_mut(path) {
        Some(Item::Bind(bind)) => {
            bind.write |= wanted.write;
            bind.below |= wanted.below;
            bind.held |= wanted.held;
        }
        _ => drop(plan.insert(path.to_owned(), Item::Bind(wanted))),
    }
}

/// Leaves out what lies in a directory that is shown, as it is to be shown.
fn without_what_is_seen_anyway(plan: &Plan) -> Plan {
    let around = |path: &Path| {
        let mut directories = path.ancestors().skip(1);
        directories.find_map(|directory| match plan.get(directory) {
            Some(Item::Bind(bind)) => Some(bind.clone()),
            _ => None,
        })
    };
    let is_seen = |path: &Path, item: &Item| match (item, around(path)) {
        (_, None) | (Item::Empty(_), _) => false,
        (Item::Bind(inner), _) if inner.held => false,
        (Item::Link(_), Some(_)) => true,
        (Item::Bind(inner), Some(outer)) => {
            let reached = outer.below || outer.source.mount == inner.source.mount;
            reached && (outer.write || !inner.write) && (outer.below || !inner.below) && !inner.source.is_device
        }
    };
    plan.iter().filter(|(path, item)| !is_seen(path, item)).map(|(path, item)| (path.clone(), item.clone())).collect()
}

/// Shows by themselves the directories that lead from one that may be written to to what is hidden or held below it: what
/// something is mounted at cannot be renamed, and nobody puts another directory in the place of that one.
fn hold_in_place(plan: &mut Plan) {
    let is_held = |item: &Item| matches!(item, Item::Empty(_)) || matches!(item, Item::Bind(bind) if bind.held);
    let held: Vec<_> = plan.iter().filter(|(_, item)| is_held(item)).map(|it| it.0.clone()).collect();
    for directory in held.iter().flat_map(|path| path.ancestors().skip(1)) {
        let around = directory.ancestors().skip(1).find_map(|outer| match plan.get(outer) {
            Some(Item::Bind(bind)) => Some(bind),
            _ => None,
        });
        let bind = around.filter(|bind| bind.write && !plan.contains_key(directory)).cloned();
        if let Some((bind, source)) = bind.zip(look(directory)) {
            plan.insert(directory.to_owned(), Item::Bind(Bind { source, held: false, ..bind }));
        }
    }
}

/// What leads from one plan to the next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// What goes, the innermost first.
    pub(super) go: Vec<PathBuf>,
    /// What comes, the outermost first.
    pub(super) come: Vec<PathBuf>,
}

/// The steps from what is shown to what is wanted.
pub(super) fn steps(shown: &Plan, wanted: &Plan) -> Steps {
    let differs = |path: &PathBuf| shown.get(path) != wanted.get(path);
    let mut moved: BTreeSet<&PathBuf> = shown.keys().chain(wanted.keys()).filter(|path| differs(path)).collect();
    // What comes would hide what stands below it, and what goes takes that with it.
    let below: Vec<_> = shown
        .keys()
        .chain(wanted.keys())
        .filter(|path| path.ancestors().skip(1).any(|outer| moved.iter().any(|it| it.as_path() == outer)))
        .collect();
    moved.extend(below);
    let of = |plan: &Plan| moved.iter().filter(|path| plan.contains_key(**path)).map(|path| (*path).clone()).collect();
    let mut go: Vec<PathBuf> = of(shown);
    go.reverse();
    Steps { go, come: of(wanted) }
}

/// Those of some paths in which something is hidden, each with all of them below it: what hides is never to be missing
/// while they are there, and so they come and stay together.
pub(super) fn veiled(paths: &[PathBuf], plan: &Plan) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let is_mounted = |path: &PathBuf| matches!(plan.get(path), Some(Item::Bind(_) | Item::Empty(_)));
    let hidden = paths.iter().filter(|path| matches!(plan.get(*path), Some(Item::Empty(_))));
    let around = |path: &PathBuf| {
        let outer = paths.iter().filter(|outer| is_mounted(outer) && path.starts_with(outer));
        outer.min_by_key(|outer| outer.as_os_str().len()).cloned()
    };
    let all_in = |outer: PathBuf| {
        let inner = paths.iter().filter(|path| is_mounted(path) && **path != outer && path.starts_with(&outer));
        let inner = inner.cloned().collect();
        (outer, inner)
    };
    hidden.filter_map(around).map(all_in).collect()
}

#[cfg(test)]
mod tests;
