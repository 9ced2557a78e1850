//! Health as a node sees it.
//!
//! A volume is checked as the controller checks it. The storage is healthy while the pool can be reached and written.

use drivebay_sdk::Result;
use drivebay_sdk::node_health::{
    GetStorageHealthRequest, GetVolumeHealthRequest, StorageHealth, StorageHealthErrorType,
};
use drivebay_sdk::types::VolumeHealth;

use crate::backend::Backend;

impl Backend<'_> {
    /// `node-health.get-volume-health`.
    pub(crate) fn get_node_volume_health(&self, request: &GetVolumeHealthRequest) -> Result<VolumeHealth> {
        self.health_of(&request.volume_id)
    }

    /// `node-health.get-storage-health`.
    pub(crate) fn get_storage_health(&self, request: &GetStorageHealthRequest) -> Result<Vec<StorageHealth>> {
        self.authorise_if_given(&request.secrets)?;
        Ok(match self.check_pool() {
            Ok(()) => Vec::new(),
            Err(error) => vec![StorageHealth {
                status: StorageHealthErrorType::StorageUnreachable,
                reason: "PoolUnreachable".to_owned(),
                message: error.message,
                volume_capability: None,
            }],
        })
    }
}
