//! What the process that runs guests sees: a mount namespace of its own, with a root that is empty but for what is shown.
//!
//! Owns the namespace, for as long as there is a host, and what is shown in it. Made and changed by the launcher, which
//! stays outside; the host only enters. Why each path is mounted where it is on the machine: grants, sockets and
//! components are called the same inside and outside, in the configuration, in the log, and in what other processes say.
//!
//! ```text
//! live (when, and whose word counts) -> mod (View) -> plan (what is to be where, and the difference) -> system (always shown)
//!                                                 |----> probes (where paths lead, though a server hangs)
//!                                                 '----> effects (system calls)
//! ```

mod effects;
mod live;
mod plan;
mod probes;
mod resolved;
mod system;
mod watch;

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use self::effects::Made;
pub(crate) use self::live::LiveView;
use self::plan::{Item, Plan};
use self::probes::PathProbes;
use crate::error::NodeError;
use crate::process;
use crate::visible::Visible;

/// A namespace and what is shown in it.
#[derive(Debug)]
pub(crate) struct View {
    made: Made,
    /// What was ever to be seen: generations with former grants drain, and may come back.
    visible: Vec<Visible>,
    probes: PathProbes,
    shown: Plan,
    /// What could not be shown when it was last tried, and was said.
    said: Vec<String>,
}

impl View {
    /// Makes one with what is always shown, and this. `aside` is any directory, and what a program of this process
    /// calls `.` is there as well, empty: paths of the command line are told from it.
    pub(crate) fn make(aside: &Path, visible: Vec<Visible>) -> Result<Self, NodeError> {
        let failed = |errno| NodeError::system("making a mount namespace", errno);
        let made = effects::make(aside.to_owned()).map_err(failed)?;
        let visible_anyway = system::visible();
        let probes = PathProbes::new(visible_anyway.iter().map(|visible| visible.path.clone()));
        let mut view = Self { made, visible: visible_anyway, probes, shown: Plan::new(), said: Vec::new() };
        let working = std::env::current_dir().into_iter();
        for directory in top().into_iter().chain(working) {
            let below = directory.strip_prefix("/").unwrap_or(&directory);
            effects::make_directories(&view.made.root, below).map_err(failed)?;
        }
        // A system may lack some of it.
        view.follow();
        let before = view.said.clone();
        let mut refused = view.show(visible)?;
        refused.retain(|words| !before.contains(words));
        if refused.is_empty() { Ok(view) } else { Err(failed_to_show(&refused)) }
    }

    /// The namespace, for the process that enters it.
    pub(crate) fn namespace(&self) -> BorrowedFd<'_> {
        self.made.namespace.as_fd()
    }

    /// How many paths are shown.
    pub(crate) fn paths(&self) -> usize {
        self.shown.values().filter(|item| matches!(item, Item::Bind(_))).count()
    }

    /// Where processes inside may write.
    pub(crate) fn written(&self) -> Vec<PathBuf> {
        let written = self.shown.iter().filter(|(_, item)| matches!(item, Item::Bind(bind) if bind.write));
        written.map(|(path, _)| path.clone()).collect()
    }

    /// Shows this, too. Gives what could not be.
    pub(crate) fn show(&mut self, visible: Vec<Visible>) -> Result<Vec<String>, NodeError> {
        for visible in visible {
            if !self.visible.contains(&visible) {
                self.visible.push(visible);
            }
        }
        self.refresh()
    }

    /// Shows what took the place of something, and what has come to be there. Gives what could not be shown.
    pub(crate) fn refresh(&mut self) -> Result<Vec<String>, NodeError> {
        let wanted = plan::plan(&self.visible, &mut self.probes);
        let steps = plan::steps(&self.shown, &wanted);
        // All of the machine is what is left here.
        let all = self.visible.iter().filter(|visible| visible.path.parent().is_none());
        let mut refused: Vec<_> = all.map(|visible| format!("all of {}", visible.path.display())).collect();
        if steps.go.is_empty() && steps.come.is_empty() {
            return Ok(refused);
        }
        let (mut go, mut come) = (Vec::new(), Vec::new());
        // Where something is hidden, what was there before stays below what comes, with what hides in it: whoever in the
        // namespace has a directory of it open could look behind what is taken away.
        let (staying, coming) = (plan::veiled(&steps.go, &self.shown), plan::veiled(&steps.come, &wanted));
        let stays = |path: &PathBuf| staying.keys().any(|outer| path.starts_with(outer));
        let replaced =
            |path: &PathBuf| staying.keys().any(|outer| path.starts_with(outer) && wanted.contains_key(outer));
        self.shown.retain(|path, _| !replaced(path));
        for path in steps.go.into_iter().filter(|path| !stays(path)) {
            match self.shown.remove(&path) {
                Some(Item::Link(_)) => drop(effects::unlink(&self.made.root, &path)),
                _ => go.push(path),
            }
        }
        for path in steps.come {
            let Some(item) = wanted.get(&path) else { continue };
            let prepared = match item {
                Item::Link(target) => effects::link(&self.made.root, &path, target).map(|()| None),
                Item::Empty(_) => effects::empty().map(Some),
                Item::Bind(bind) => effects::copy(&path, bind).and_then(|copy| {
                    effects::make_point(&self.made.root, &path, bind.source.is_directory)?;
                    Ok(Some(copy))
                }),
            };
            match prepared {
                Ok(copy) => {
                    come.extend(copy.map(|copy| (path.clone(), copy)));
                    self.shown.insert(path, item.clone());
                }
                Err(errno) => refused.push(format!("{}: {errno}", path.display())),
            }
        }
        for (outer, inner) in coming {
            let (together, rest): (Vec<_>, _) = come.into_iter().partition(|(path, _)| path.starts_with(&outer));
            come = rest;
            match join(self.namespace(), &outer, inner.len() + 1, together) {
                Ok(tree) => come.push((outer, tree)),
                Err(errno) => {
                    // Without what hides in it, it is not shown at all.
                    self.shown.retain(|path, _| !path.starts_with(&outer));
                    refused.push(format!("{}: {errno}", outer.display()));
                }
            }
        }
        let gone = go.clone();
        let changed = effects::change(self.made.namespace.as_fd(), go, come);
        for (path, errno) in changed.map_err(|errno| NodeError::system("entering a mount namespace", errno))? {
            self.shown.remove(&path);
            refused.push(format!("{}: {errno}", path.display()));
        }
        // What is not there outside is not there inside: an empty directory would be taken for it.
        for path in gone.iter().filter(|path| !self.shown.contains_key(*path)) {
            effects::remove_point(&self.made.root, path);
        }
        Ok(refused)
    }

    /// As [`Self::refresh`], for when nobody has asked.
    pub(crate) fn follow(&mut self) {
        let refused = match self.refresh() {
            Ok(refused) => refused,
            Err(error) => vec![error.message],
        };
        if refused != self.said && !refused.is_empty() {
            process::log(&failed_to_show(&refused).message);
        }
        self.said = refused;
    }

    /// Where what is to be seen stands, and the links that lead there; but for those that hang.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        let all = self.shown.keys().map(PathBuf::as_path).chain(self.visible.iter().map(|it| it.path.as_path()));
        let hanging: Vec<_> = self.visible.iter().filter(|it| self.probes.hangs(&it.path)).collect();
        all.filter(move |path| !hanging.iter().any(|it| path.starts_with(&it.path)))
    }

    /// Whether this was ever to be seen.
    pub(crate) fn knows(&self, visible: &Visible) -> bool {
        self.visible.contains(visible)
    }
}

/// Makes one of so many copies, of which the first is the outermost.
fn join(
    namespace: BorrowedFd<'_>,
    outer: &Path,
    count: usize,
    mut copies: Vec<(PathBuf, OwnedFd)>,
) -> rustix::io::Result<OwnedFd> {
    if copies.len() != count || copies.first().is_none_or(|(path, _)| path != outer) {
        // What could not be made was said.
        return Err(rustix::io::Errno::NOENT);
    }
    let first = copies.remove(0);
    effects::joined(namespace, first, copies)
}

fn failed_to_show(refused: &[String]) -> NodeError {
    let message = format!("the process that runs guests cannot be shown {}", refused.join(", "));
    NodeError::new(crate::error::ErrorCode::Failed, message)
}

/// The directories in the root: the kernel's rules for the host are made from their names, and what is granted later may
/// lie in each of them.
fn top() -> Vec<PathBuf> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests;
