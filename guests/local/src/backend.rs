//! One call's view of everything: the host, the settings, and the pool with what is built on it.
//!
//! Every call makes its own. The calls themselves are methods in the other modules.

use drivebay_sdk::Result;
use drivebay_sdk::types::StringMap;
use local_index::Index;
use local_pool::disk::Disk;
use local_pool::host::Host;
use local_pool::{Contents, Lifecycle, Pool};
use local_replication::Replication;

use crate::settings::Settings;

/// The backend during a call.
pub(crate) struct Backend<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) settings: &'a Settings,
    pub(crate) pool: &'a Pool<'a>,
    pub(crate) lifecycle: Lifecycle<'a>,
    pub(crate) contents: Contents<'a>,
    pub(crate) index: Index<'a>,
    pub(crate) replication: Replication<'a>,
}

impl Backend<'_> {
    /// Does the work of one call. `invalid-argument`: the settings are wrong.
    pub(crate) fn run<T>(host: &dyn Host, disk: &dyn Disk, work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Result<T> {
        let settings = Settings::parse(&host.settings()?)?;
        let pool = Pool::new(host, disk, &settings.pool);
        work(&Backend {
            host,
            settings: &settings,
            pool: &pool,
            lifecycle: Lifecycle::new(&pool),
            contents: Contents::new(&pool),
            index: Index::new(&pool),
            replication: Replication::new(&pool, settings.link.as_deref(), &settings.topology),
        })
    }

    /// Lets a request with secrets pass. `unauthenticated`: they are wrong.
    pub(crate) fn authorise(&self, secrets: &StringMap) -> Result<()> {
        self.settings.authorise(secrets)
    }

    /// As `authorise`, for calls whose secrets are so new to the protocol that clients do not send
    /// them yet: without any the call passes, wrong ones are wrong.
    pub(crate) fn authorise_if_given(&self, secrets: &StringMap) -> Result<()> {
        if secrets.is_empty() { Ok(()) } else { self.authorise(secrets) }
    }
}
