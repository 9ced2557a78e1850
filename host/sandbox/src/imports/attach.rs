//! `drivebay:host/attach`: storage over a network, handed to the helper process as all node work is.

use super::mounts::{Answer, into};
use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::attach::{Host, Share, ShareRequest};
use drivebay_node::{self as node, Caller, Node};

impl Host for HostState {
    async fn mount_share(&mut self, request: ShareRequest) -> Answer<()> {
        let share = match request.share {
            Share::Nfs(share) => node::Share::Nfs(node::NfsShare {
                server: share.server,
                export: share.export_path,
                subdirectory: share.subdirectory,
            }),
        };
        let request = node::ShareRequest {
            volume: request.volume,
            share,
            target: request.target,
            options: request.options,
            access: into(request.access),
        };
        self.node(move |n: Node, c: Caller| async move { n.mount_share(&c, request).await }).await
    }
}
