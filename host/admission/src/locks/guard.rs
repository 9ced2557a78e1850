//! The hold of one call on its objects. Owns giving them back, whatever way the call ends.

use std::time::Duration;

use super::{Access, Conflict, Holder, LockSet, LockTable, ObjectKey};

/// Locks that are given back when the guard is dropped.
#[derive(Debug)]
pub struct Guard {
    table: LockTable,
    keys: Vec<(ObjectKey, Access)>,
}

impl Guard {
    pub(super) fn new(table: LockTable, keys: Vec<(ObjectKey, Access)>) -> Self {
        Self { table, keys }
    }

    /// Adds objects that became known only under the first locks: the members of a group.
    ///
    /// # Errors
    /// The first object in conflict; what was held before stays held.
    pub fn extend(&mut self, set: &LockSet, holder: &Holder) -> Result<(), Conflict> {
        let added = self.table.grab(set, holder, &self.keys)?;
        self.keys.extend(added);
        Ok(())
    }

    /// As `extend`, but where only background steps are in the way it waits for them, at most
    /// `patience`.
    ///
    /// # Errors
    /// As `extend`.
    pub async fn extend_after_steps(
        &mut self,
        set: &LockSet,
        holder: &Holder,
        patience: Duration,
    ) -> Result<(), Conflict> {
        let added = self.table.grab_after_steps(set, holder, &self.keys, patience).await?;
        self.keys.extend(added);
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.table.release(&self.keys);
    }
}
