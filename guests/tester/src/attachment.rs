//! Attaching: any volume to any node.

use drivebay_sdk::attachment::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Attachment, Result};

use crate::records::{Kept, Record};
use crate::{Tester, act, stamp};

impl Attachment for Tester {
    fn publish_volume(request: PublishVolumeRequest) -> Result<StringMap> {
        act::enter("attach-volume", &request.volume_id, &request.secrets)?;
        Kept::get(&request.volume_id)?;
        Ok(vec![("node".to_owned(), request.node_id), ("version".to_owned(), stamp::field("version").to_owned())])
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        act::enter("detach-volume", &request.volume_id, &request.secrets).map(drop)
    }
}
