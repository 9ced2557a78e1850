//! What the configuration allows of node work, in the words of the process that does it. That process hears it once,
//! from a host that has loaded nothing yet, and later reads the configuration itself, by the function here.

use drivebay_backend::permissions;
use drivebay_node::{Mandate, PermissionsByName};
use drivebay_observe::drill::{self, Defence};
use drivebay_policy::Config;

/// What the process for node work is told at the start.
pub(super) fn mandate(config: &Config) -> Mandate {
    let (state_dir, targets) = (config.host.state.clone(), config.host.targets.clone());
    let unshared = !drill::stands(Defence::Shares);
    Mandate { state_dir, targets, backends: of(config), file: config.file.clone(), unshared }
}

/// Finds the permissions in the text of a configuration.
///
/// # Errors
/// All its mistakes: one that the host would not take over allows nothing new either.
pub fn read(name: &str, text: &str) -> Result<PermissionsByName, String> {
    Config::parse(name, text).map(|config| of(&config)).map_err(|error| error.to_string())
}

fn of(config: &Config) -> PermissionsByName {
    let granted = config.backends.iter().filter(|backend| backend.grants.node.is_granted);
    granted.map(|backend| (backend.name.clone(), permissions(backend))).collect()
}
