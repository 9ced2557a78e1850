//! What the process that runs guests sees of the machine's files: from a configuration to paths, and whose mounts it has.
//! Owns the list and the words; the namespace is made and changed by the launcher.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivebay_confine as confine;
use drivebay_node::{Launcher, Visibility, Visible};
use drivebay_policy::grants::PathUse;
use drivebay_policy::package::packages_of;
use drivebay_policy::{BackendConfig, ComponentSource, Config};
use drivebay_signature as signature;

/// What making and entering a namespace takes.
const NEEDED: [&str; 2] = ["CAP_SYS_ADMIN", "CAP_SYS_CHROOT"];

/// The directories of the system and of everybody, which are never shown but where a socket is to be made in one.
const SHARED: [&str; 6] = ["/etc", "/run", "/tmp", "/var/lib", "/var/run", "/var/tmp"];

/// Whose mounts this process has.
#[derive(Debug)]
pub enum Mounts {
    /// Its own, in which the launcher shows what the configuration names.
    Own(Arc<Launcher>),
    /// The system's, for this reason.
    Systems(String),
}

impl Mounts {
    /// Why this process cannot leave the system's mounts, if it cannot.
    pub(crate) fn hindrance() -> Option<String> {
        let has = confine::effective();
        let lacks: Vec<_> = NEEDED.into_iter().filter(|needed| has.iter().all(|it| it != needed)).collect();
        (!lacks.is_empty()).then(|| format!("this process has no {}", lacks.join(" and ")))
    }

    /// Leaves the system's mounts. What hinders it is said, and the host serves all the same.
    pub(crate) fn enter(launcher: &Arc<Launcher>, config: &Config) -> Self {
        match launcher.enter() {
            Ok(paths) => {
                tracing::info!(paths, "mounts: own namespace");
                warn_of_shared(config);
                Self::Own(Arc::clone(launcher))
            }
            Err(error) => Self::systems(error.to_string()),
        }
    }

    /// Stays with the system's, and says why.
    pub(crate) fn systems(why: String) -> Self {
        tracing::warn!(why, "mounts: the system's; what escapes a sandbox could read what this host's user may read");
        Self::Systems(why)
    }

    /// In a line.
    pub fn words(&self) -> String {
        match self {
            Self::Own(launcher) => format!("own namespace, {} paths", launcher.shown().unwrap_or_default()),
            Self::Systems(why) => format!("the system's: {why}"),
        }
    }

    /// Has shown what the configuration names by now.
    pub async fn renew(&self) {
        let Self::Own(launcher) = self else { return };
        let launcher = Arc::clone(launcher);
        let shown = tokio::task::spawn_blocking(move || launcher.show()).await;
        match shown {
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(error)) => tracing::error!(%error, "not all that the configuration names is shown to this process"),
        }
    }
}

/// A socket is made in its directory, so all of that is seen.
fn warn_of_shared(config: &Config) {
    for socket in sockets(config) {
        let directory = socket.parent().unwrap_or(Path::new("/"));
        if SHARED.iter().any(|shared| directory == Path::new(shared)) {
            let (socket, directory) = (socket.display(), directory.display());
            tracing::warn!(%socket, %directory, "a socket beside those of others: all that is there stays in reach of this \
                            process; give it a directory of its own");
        }
    }
}

/// What a host with this configuration is to see.
pub(crate) fn visible(config: &Config) -> Vec<Visible> {
    let own = sockets(config).filter_map(|socket| Some(socket.parent()?.to_owned()));
    let own = own.chain([config.host.state.clone()]).map(|path| shown(path, Visibility::Own));
    let file = config.file.iter().map(|path| shown(path.clone(), Visibility::Beside));
    // They are another process's, which must find them as it left them.
    let packages = config.backends.iter().any(|backend| backend.package.is_some());
    let packages = packages.then(|| shown(packages_of(&config.host.state), Visibility::Held));
    own.chain(file).chain(packages).chain(config.backends.iter().flat_map(of)).collect()
}

/// Finds what is to be seen in the text of a configuration.
///
/// # Errors
/// All its mistakes.
pub fn read(name: &str, text: &str) -> Result<Vec<Visible>, String> {
    Config::parse(name, text).map(|config| visible(&config)).map_err(|error| error.to_string())
}

fn of(backend: &BackendConfig) -> Vec<Visible> {
    let mut all = Vec::new();
    // A package lies below the state directory, which is seen whole.
    if let (ComponentSource::File(component), None) = (&backend.component, &backend.package) {
        all.push(shown(component.clone(), Visibility::Beside));
        all.push(shown(signature::beside(component), Visibility::Alone));
        all.push(shown(signature::bundle_beside(component), Visibility::Alone));
        all.push(shown(signature::manifest_beside(component), Visibility::Alone));
    }
    all.extend(backend.signers.iter().map(|signer| shown(signer.clone(), Visibility::Alone)));
    all.extend(backend.grants.paths().into_iter().map(|needed| match needed.used {
        PathUse::Read => shown(needed.path, Visibility::Read),
        PathUse::Write => shown(needed.path, Visibility::Write),
        PathUse::File => shown(needed.path, Visibility::Alone),
    }));
    all
}

fn sockets(config: &Config) -> impl Iterator<Item = &PathBuf> {
    let of_backends = config.backends.iter().flat_map(|backend| {
        let sockets = &backend.sockets;
        [&sockets.csi, &sockets.controller, &sockets.node, &sockets.addons].into_iter().flatten()
    });
    config.host.admin.iter().chain(of_backends)
}

const fn shown(path: PathBuf, how: Visibility) -> Visible {
    Visible { path, how }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_seen_and_nothing_else() {
        let text = r#"
            [host]
            state = "/var/lib/drivebay"
            admin = "unix:///run/drivebay/admin.sock"
            [[backend]]
            name = "a"
            component = "/opt/vendor/a.wasm"
            signers = ["/etc/drivebay/vendor.pub"]
            csi = "unix:///run/a/csi.sock"
            [backend.grants]
            directories = [
                { host = "/srv/pool", guest = "/pool", write = true },
                { host = "/srv/link", guest = "/link" },
            ]
            http = [{ origin = "https://array.example", ca = "/etc/drivebay/ca.pem" }]
        "#;
        let seen = read("test", text).unwrap();
        let seen: Vec<_> = seen.iter().map(|it| (it.path.to_str().unwrap(), it.how)).collect();
        assert_eq!(
            seen,
            [
                ("/run/drivebay", Visibility::Own),
                ("/run/a", Visibility::Own),
                ("/var/lib/drivebay", Visibility::Own),
                ("/opt/vendor/a.wasm", Visibility::Beside),
                ("/opt/vendor/a.wasm.sig", Visibility::Alone),
                ("/opt/vendor/a.wasm.sigstore.json", Visibility::Alone),
                ("/opt/vendor/a.wasm.manifest.json", Visibility::Alone),
                ("/etc/drivebay/vendor.pub", Visibility::Alone),
                ("/srv/pool", Visibility::Write),
                ("/srv/link", Visibility::Read),
                ("/etc/drivebay/ca.pem", Visibility::Alone),
            ]
        );
        assert!(read("test", "[host").is_err());
    }
}
