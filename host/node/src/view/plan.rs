//! From what is to be seen to what is mounted where: follows the operator's links, as the kernel does, and leaves out
//! what is seen anyway.
//!
//! Owns the looking at the machine's files, without opening any, and the difference between two plans. It must not mount
//! anything; the one thing that it makes is a directory for the host's own files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::looks::Looks;
use super::system::is_everybodys;
use crate::visible::{Showing, Visible};

/// As many links does the kernel follow.
const LINKS: usize = 40;

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
}

/// What tells a file or directory from another one that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    mount: u64,
    device: (u32, u32),
    inode: u64,
    pub(super) is_directory: bool,
    pub(super) is_device: bool,
}

/// What is to stand where, by paths without links.
pub(super) type Plan = BTreeMap<PathBuf, Item>;

/// What all of this means on this machine now. What is not there is left out.
pub(super) fn plan<'a>(visible: impl IntoIterator<Item = &'a Visible>, looks: &mut Looks) -> Plan {
    let mut plan = Plan::new();
    for visible in visible {
        add(&mut plan, visible, looks);
    }
    let mut plan = without_what_is_seen_anyway(&plan);
    hold_in_place(&mut plan);
    plan
}

fn add(plan: &mut Plan, visible: &Visible, looks: &mut Looks) {
    let mut way = match visible.how {
        Showing::Read | Showing::Write => looks.way(&visible.path),
        Showing::Own | Showing::Beside | Showing::Alone | Showing::Hidden => Way::of(&visible.path),
    };
    if visible.how == Showing::Own && way.end.is_none() && fs::create_dir_all(&visible.path).is_ok() {
        way = Way::of(&visible.path);
    }
    if visible.how == Showing::Hidden {
        plan.extend(way.end.map(|(path, source)| (path, Item::Empty(source))));
        return;
    }
    for link in way.links {
        let directory =
            link.path.parent().filter(|it| visible.how == Showing::Beside && link.is_last && !is_everybodys(it));
        match directory.and_then(|directory| Some((directory, look(directory)?))) {
            Some((directory, source)) => bind(plan, directory, source, Showing::Beside),
            None => drop(plan.insert(link.path, Item::Link(link.target))),
        }
    }
    if let Some((path, source)) = way.end {
        let directory = path.parent().filter(|it| visible.how == Showing::Beside && !is_everybodys(it));
        match directory.and_then(|directory| Some((directory, look(directory)?))) {
            Some((directory, source)) => bind(plan, directory, source, Showing::Beside),
            None => bind(plan, &path, source, visible.how),
        }
    } else if let Some(directory) = way.missing_in.filter(|it| visible.how == Showing::Beside && !is_everybodys(it))
        && let Some(source) = look(&directory)
    {
        bind(plan, &directory, source, Showing::Beside);
    }
}

fn bind(plan: &mut Plan, path: &Path, source: Source, how: Showing) {
    if path.parent().is_none() {
        // It would be around everything.
        return;
    }
    let wanted = Bind {
        source,
        write: matches!(how, Showing::Own | Showing::Write),
        below: matches!(how, Showing::Read | Showing::Write),
    };
    match plan.get_mut(path) {
        Some(Item::Bind(bind)) => {
            bind.write |= wanted.write;
            bind.below |= wanted.below;
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
        (Item::Link(_), Some(_)) => true,
        (Item::Bind(inner), Some(outer)) => {
            let reached = outer.below || outer.source.mount == inner.source.mount;
            reached && (outer.write || !inner.write) && (outer.below || !inner.below) && !inner.source.is_device
        }
    };
    plan.iter().filter(|(path, item)| !is_seen(path, item)).map(|(path, item)| (path.clone(), item.clone())).collect()
}

/// Shows by themselves the directories that lead from one that may be written to to what is hidden below it: what
/// something is mounted at cannot be renamed, and nobody puts another directory in the place of the hidden one.
fn hold_in_place(plan: &mut Plan) {
    let hidden: Vec<_> =
        plan.iter().filter(|(_, item)| matches!(item, Item::Empty(_))).map(|it| it.0.clone()).collect();
    for directory in hidden.iter().flat_map(|path| path.ancestors().skip(1)) {
        let around = directory.ancestors().skip(1).find_map(|outer| match plan.get(outer) {
            Some(Item::Bind(bind)) => Some(bind),
            _ => None,
        });
        let bind = around.filter(|bind| bind.write && !plan.contains_key(directory)).cloned();
        if let Some((bind, source)) = bind.zip(look(directory)) {
            plan.insert(directory.to_owned(), Item::Bind(Bind { source, ..bind }));
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

/// A link on the way to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    path: PathBuf,
    target: PathBuf,
    /// It stands for the whole rest of the way.
    is_last: bool,
}

/// The way to a path, as the kernel follows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Way {
    links: Vec<Link>,
    /// Where it leads, without links; none: it ends before.
    end: Option<(PathBuf, Source)>,
    /// The directory in which only the last name is missing.
    missing_in: Option<PathBuf>,
}

impl Way {
    pub(super) fn of(path: &Path) -> Self {
        let mut way = Self::default();
        let mut at = PathBuf::from("/");
        let mut ahead = parts(path);
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let here = at.join(&part);
            match fs::read_link(&here) {
                Ok(target) if way.links.len() < LINKS => {
                    let is_last = ahead.is_empty();
                    for part in parts(&target).into_iter().rev() {
                        ahead.push_front(part);
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    way.links.push(Link { path: here, target, is_last });
                }
                Ok(_endless) => return way,
                Err(_no_link) if look(&here).is_some() => at = here,
                Err(_nothing) => {
                    way.missing_in = ahead.is_empty().then_some(at);
                    return way;
                }
            }
        }
        way.end = look(&at).map(|source| (at, source));
        way
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// What is at a path, from what is known of it on this machine: no server is asked.
fn look(path: &Path) -> Option<Source> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let seen = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID).ok()?;
    let kind = FileType::from_raw_mode(seen.stx_mode.into());
    Some(Source {
        mount: seen.stx_mnt_id,
        device: (seen.stx_dev_major, seen.stx_dev_minor),
        inode: seen.stx_ino,
        is_directory: kind == FileType::Directory,
        is_device: matches!(kind, FileType::CharacterDevice | FileType::BlockDevice),
    })
}

#[cfg(test)]
mod tests;
