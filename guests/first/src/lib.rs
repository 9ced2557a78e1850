//! A first backend: every directory below `/data` is a volume that pods can mount.
//!
//! It needs no controller, because an operator makes the directories; it remembers nothing,
//! because the host knows what is mounted where.

use std::path::Path;

use drivebay_sdk::identity::{Grant, Want};
use drivebay_sdk::mounts::{self, Access};
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::{Error, Identity, Node, Result};

struct First;

impl Identity for First {
    const NAME: &'static str = "first.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn wants() -> Vec<Want> {
        let data = Grant::directory("/data", Access::ReadWrite);
        vec![
            Want::required(data, "Volumes are kept there."),
            Want::required(Grant::Node, "Volumes are mounted where pods run."),
        ]
    }
}

impl Node for First {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        if request.volume_capability.is_block() {
            return Err(Error::invalid_argument("a directory is no block device"));
        }
        let source = directory_of(&request.volume_id)?;
        let access = Access::for_publish(request.readonly, &request.volume_capability);
        mounts::bind_granted(request.volume_id, source, request.target_path, access)?;
        Ok(())
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        mounts::unmount(&request.volume_id, &request.target_path)?;
        Ok(())
    }
}

/// Where a volume lives. An id must not lead out of `/data`, and what is not there is no volume.
fn directory_of(id: &str) -> Result<String> {
    let directory = format!("/data/{id}");
    let is_name = !id.contains('/') && !matches!(id, "" | "." | "..");
    if is_name && Path::new(&directory).is_dir() {
        return Ok(directory);
    }
    Err(Error::not_found(format!("there is no volume {id}")))
}

drivebay_sdk::export!(First: identity, node);
