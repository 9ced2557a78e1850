//! What each backend may do here: as the mandate says, and as the operator's configuration says when it was read again.
//!
//! Owns the table. No request can put anything into it: one can only have the configuration read. It must not
//! judge single requests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::grants::Grants;
use crate::configuration::{Reach, Text};
use crate::error::{ErrorCode, NodeError};
use crate::permissions::{Mandate, Permissions, PermissionsByName, ReadPermissions};

/// The permissions of all backends.
#[derive(Debug)]
pub(super) struct Permits {
    file: Option<PathBuf>,
    state_dir: PathBuf,
    read: ReadPermissions,
    table: Mutex<HashMap<String, Permit>>,
}

/// The permissions of one backend.
#[derive(Debug)]
struct Permit {
    present: Permissions,
    /// Of the present permissions and of those before them: calls may be under way that began with those.
    grants: Arc<Grants>,
}

impl Permit {
    fn new(present: Permissions, former: Option<&Permissions>) -> Result<Self, NodeError> {
        let mut both = present.clone();
        for grant in former.into_iter().flat_map(|former| &former.directories) {
            if both.directories.iter().all(|other| other.guest != grant.guest) {
                both.directories.push(grant.clone());
            }
        }
        Ok(Self { grants: Arc::new(Grants::new(both)?), present })
    }
}

impl Permits {
    /// The permissions of the mandate. `read` is how a configuration is understood.
    pub(super) fn new(mandate: Mandate, read: ReadPermissions) -> Result<Self, NodeError> {
        let Mandate { state_dir, targets: _, backends, file, unshared: _ } = mandate;
        let permits = backends.into_iter().map(|(name, permissions)| Ok((name, Permit::new(permissions, None)?)));
        let table = permits.collect::<Result<HashMap<_, _>, NodeError>>()?;
        Ok(Self { file, state_dir, read, table: Mutex::new(table) })
    }

    /// A backend's grants; `not-granted` for one that has none.
    pub(super) fn grants(&self, backend: &str) -> Result<Arc<Grants>, NodeError> {
        self.lock().get(backend).map(|permit| Arc::clone(&permit.grants)).ok_or_else(|| none_of(backend))
    }

    /// Takes over what the operator's configuration says of a backend by now. If it stood on a command line, that
    /// is what it said at the start.
    pub(super) fn reread(&self, backend: &str) -> Result<Permissions, NodeError> {
        let Some(file) = &self.file else {
            return self.lock().get(backend).map(|it| it.present.clone()).ok_or_else(|| none_of(backend));
        };
        let reach = Reach { state_dir: &self.state_dir, written: self.written() };
        let text = Text::read(file, &reach)?;
        text.believe()?;
        let mut found: PermissionsByName = text.says(self.read)?;
        let present = found.remove(backend).ok_or_else(|| none_of(backend))?;
        let mut table = self.lock();
        let former = table.get(backend).map(|it| it.present.clone());
        if former.as_ref() != Some(&present) {
            table.insert(backend.to_owned(), Permit::new(present.clone(), former.as_ref())?);
        }
        Ok(present)
    }

    /// Where the host may write because a component may.
    fn written(&self) -> Vec<PathBuf> {
        self.lock().values().flat_map(|permit| permit.grants.written()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Permit>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn none_of(backend: &str) -> NodeError {
    let message = format!("backend {backend} has no grant for work on this node");
    NodeError::new(ErrorCode::NotGranted, message)
}
