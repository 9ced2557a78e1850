//! Giving up rights at the start: where the configuration needs them, and what is said about them. The giving up
//! itself is `confine`'s.

use std::path::{Path, PathBuf};

use drivebay_confine::{self as confine, Attempt, Force, Given, InForce};
use drivebay_policy::Config;
use drivebay_policy::grants::PathUse;

/// Gives up what this process does not need with this configuration, and says what is in force.
///
/// # Errors
/// When a capability cannot be dropped.
pub(super) fn enter(config: &Config) -> rustix::io::Result<InForce> {
    let in_force = confine::guests(&given(config))?;
    say(&in_force);
    Ok(in_force)
}

fn given(config: &Config) -> Given {
    let mut writable = vec![config.host.state.clone()];
    let mut sockets: Vec<&Path> = config.host.admin.as_deref().into_iter().collect();
    for backend in &config.backends {
        let written = backend.grants.paths().into_iter().filter(|needed| needed.used == PathUse::Write);
        writable.extend(written.map(|needed| needed.path));
        let all = [&backend.sockets.csi, &backend.sockets.controller, &backend.sockets.node, &backend.sockets.addons];
        sockets.extend(all.into_iter().flatten().map(PathBuf::as_path));
    }
    writable.extend(sockets.into_iter().filter_map(|socket| Some(socket.parent()?.to_owned())));
    // Before there is a thread that could be waited for: no server may be asked where they are.
    let writable = writable.iter().map(|path| drivebay_policy::resolved(path)).collect();
    Given { writable, port: config.host.http.map(|address| address.port()) }
}

fn say(in_force: &InForce) {
    let InForce { capabilities, no_new_privileges, landlock, seccomp, mount, .. } = in_force;
    let capabilities = if capabilities.is_empty() { "none".to_owned() } else { capabilities.join(" ") };
    let mount = match mount {
        Attempt::Refused(error) => format!("impossible: {error}"),
        Attempt::Possible => "possible".to_owned(),
    };
    let (landlock_words, seccomp_words) = (landlock.words(), seccomp.words());
    tracing::info!(
        capabilities,
        no_new_privileges,
        landlock = landlock_words,
        seccomp = seccomp_words,
        mount,
        "rights given up"
    );
    if [landlock, seccomp].into_iter().any(|force| matches!(force, Force::None(_))) {
        tracing::warn!(
            "a part of the confinement is not in force: what escapes a sandbox could do more than it should"
        );
    }
}
