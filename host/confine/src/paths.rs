//! Limits on files that the kernel keeps to whatever the user id (Landlock). Owns the two sets of rules. What
//! may be read is not limited for a host: grants, sockets and components that come with a later configuration
//! may lie anywhere, and a rule can never be added.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::Force;

/// The newest version of the interface whose rights are named here.
const KNOWN: ABI = ABI::V6;

/// Directories of the system: programs are there, and nothing that a backend is given.
const SYSTEM: [&str; 13] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/sbin", "/sys", "/usr"];

/// Where a host may write, and what it may start.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Directories in which, and below which, anything may be written.
    pub(super) writable: Vec<PathBuf>,
    /// Programs, and directories of programs.
    pub(super) programs: Vec<PathBuf>,
}

impl Places {
    /// Everything but the system's own directories, and what the configuration names in those.
    pub(super) fn around(configured: &[PathBuf], program: &Path) -> Self {
        let entries = std::fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path());
        let own = entries.filter(|path| path.is_dir() && !SYSTEM.iter().any(|system| path == Path::new(system)));
        // All others lie in those of the first kind, and are not looked at: their server may not answer.
        let of_system = |path: &&PathBuf| SYSTEM.iter().any(|system| path.starts_with(system));
        let configured = configured.iter().filter(of_system).filter_map(|path| std::fs::canonicalize(path).ok());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = std::env::split_paths(&path).chain(SYSTEM.iter().map(PathBuf::from));
        let never = ["/boot", "/dev", "/etc", "/proc", "/sys"].map(Path::new);
        let programs = programs.filter(|path| path.is_absolute() && path.is_dir() && !never.contains(&path.as_path()));
        Self { writable: own.chain(configured).collect(), programs: programs.chain([program.to_owned()]).collect() }
    }

    /// Whether something can be written below this path.
    pub(super) fn allow(&self, path: &Path) -> bool {
        // What is not there yet lies where its nearest ancestor does.
        let there = path.ancestors().find_map(|part| std::fs::canonicalize(part).ok());
        there.is_some_and(|there| self.writable.iter().any(|place| there.starts_with(place)))
    }
}

/// Files of any kind that are no devices, and everything that changes them.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_write(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

/// Keeps this process from changing the system, from devices, and from starting what it could have written.
pub(super) fn for_guests(places: &Places, port: Option<u16>) -> Force {
    in_force(restrict_guests(places, port))
}

fn restrict_guests(places: &Places, port: Option<u16>) -> Result<RestrictionStatus, RulesetError> {
    let rules = Ruleset::default()
        // Without this right every renaming between directories is refused; then rather no rules at all.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(KNOWN) | AccessFs::Execute)?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    let mut rules = allow(rules, &places.writable, writing())?;
    rules = allow(rules, &places.programs, AccessFs::Execute.into())?;
    rules = allow(rules, &[PathBuf::from("/dev/null")], AccessFs::WriteFile.into())?;
    if let Some(port) = port {
        rules = rules.add_rule(landlock::NetPort::new(port, AccessNet::BindTcp))?;
    }
    rules.restrict_self()
}

fn allow(
    mut rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        // What cannot be opened now is not allowed later.
        if let Ok(descriptor) = PathFd::new(path) {
            let of_this = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
            rules = rules.add_rule(PathBeneath::new(descriptor, of_this))?;
        }
    }
    Ok(rules)
}

/// Keeps this process from opening anything, from TCP, and from everybody else.
pub(super) fn for_compiling() -> Force {
    let restricted = || -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(Scope::from_all(KNOWN))?
            .create()?
            .restrict_self()
    };
    in_force(restricted())
}

fn in_force(restricted: Result<RestrictionStatus, RulesetError>) -> Force {
    match restricted.map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => Force::Full,
        Ok(RulesetStatus::PartiallyEnforced) => Force::Partial,
        Ok(RulesetStatus::NotEnforced) => Force::None("this kernel has no Landlock, or it is switched off".to_owned()),
        Err(error) => Force::None(error.to_string()),
    }
}
