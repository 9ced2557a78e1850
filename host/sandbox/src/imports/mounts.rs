//! `drivebay:host/mounts`: node work, handed to the helper process. Without the grant every
//! function says so.

use std::sync::Arc;

use super::refusals::{self, Tried};
use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::mounts::{
    BindRequest, BindSource, EntryKind, Host, LedgerEntry, MountRequest, Usage, UsageUnit,
};
use drivebay_contract::bindings::drivebay::host::types::{Access, Error, ErrorCode};
use drivebay_node::{self as node, Caller, ErrorCode as NodeCode, Node, NodeError};

/// What a function of the interface answers.
pub(super) type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl HostState {
    /// Runs node work for the call under way. It goes on if the guest is ended meanwhile.
    pub(super) fn node<T, F, U>(&self, work: F) -> impl Future<Output = Answer<T>> + Send + use<T, F, U>
    where
        T: Send + 'static,
        F: FnOnce(Node, Caller) -> U + Send + 'static,
        U: Future<Output = Result<T, NodeError>> + Send + 'static,
    {
        let (node, call, around) = (self.around.node.clone(), Arc::clone(&self.call), Arc::clone(&self.around));
        let (caller, gate) = (call.caller(&self.around.backend), self.waiting.gate.clone());
        async move {
            gate.pass("node work").await?;
            let Some(node) = node else {
                let message = "node work is not granted to this backend (--node, or node = true)".to_owned();
                refusals::tell(&around, &call, Tried::Node, &message);
                return Ok(Err(Error { code: ErrorCode::NotGranted, message }));
            };
            let done = call.operation(work(call.node(&node).clone(), caller)).await?;
            Ok(done.map_err(|error| {
                call.note(&error);
                if matches!(error.code, NodeCode::NotGranted | NodeCode::NotAllowed) {
                    refusals::tell(&around, &call, Tried::Node, &error.message);
                }
                explain(error)
            }))
        }
    }
}

impl Host for HostState {
    async fn attach_image(&mut self, volume: String, image: String, access: Access) -> Answer<()> {
        let access = into(access);
        self.node(move |n: Node, c: Caller| async move { n.attach_image(&c, &volume, &image, access).await }).await
    }

    async fn detach_image(&mut self, volume: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.detach_image(&c, &volume).await }).await
    }

    async fn renew_uuid(&mut self, volume: String, file_system: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.renew_uuid(&c, &volume, &file_system).await }).await
    }

    async fn mount_device(&mut self, request: MountRequest) -> Answer<()> {
        let request = node::MountRequest {
            volume: request.volume,
            target: request.target,
            file_system: request.file_system,
            options: request.options,
            access: into(request.access),
        };
        self.node(move |n: Node, c: Caller| async move { n.mount_device(&c, request).await }).await
    }

    async fn bind(&mut self, request: BindRequest) -> Answer<()> {
        let source = match request.source {
            BindSource::Mounted(path) => node::BindSource::Mounted(path),
            BindSource::Granted(path) => node::BindSource::Granted(path),
        };
        let (volume, target, access) = (request.volume, request.target, into(request.access));
        self.node(move |n: Node, c: Caller| async move { n.bind(&c, &volume, source, &target, access).await }).await
    }

    async fn publish_device(&mut self, volume: String, target: String, access: Access) -> Answer<()> {
        let access = into(access);
        self.node(move |n: Node, c: Caller| async move { n.publish_device(&c, &volume, &target, access).await }).await
    }

    async fn unmount(&mut self, volume: String, target: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.unmount(&c, &volume, &target).await }).await
    }

    async fn set_access(&mut self, volume: String, target: String, access: Access) -> Answer<()> {
        let access = into(access);
        self.node(move |n: Node, c: Caller| async move { n.set_access(&c, &volume, &target, access).await }).await
    }

    async fn grow(&mut self, volume: String) -> Answer<u64> {
        self.node(move |n: Node, c: Caller| async move { n.grow(&c, &volume).await }).await
    }

    async fn trim(&mut self, volume: String) -> Answer<u64> {
        self.node(move |n: Node, c: Caller| async move { n.trim(&c, &volume).await }).await
    }

    async fn freeze(&mut self, volume: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.freeze(&c, &volume).await }).await
    }

    async fn thaw(&mut self, volume: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.thaw(&c, &volume).await }).await
    }

    async fn get_usage(&mut self, volume: String, path: String) -> Answer<Vec<Usage>> {
        let got = self.node(move |n: Node, c: Caller| async move { n.get_usage(&c, &volume, &path).await }).await?;
        Ok(got.map(|usage| usage.into_iter().map(from_usage).collect()))
    }

    async fn set_group(&mut self, volume: String, target: String, group: u32) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.set_group(&c, &volume, &target, group).await }).await
    }

    async fn list_entries(&mut self, volume: Option<String>) -> Answer<Vec<LedgerEntry>> {
        let got =
            self.node(move |n: Node, c: Caller| async move { n.list_entries(&c, volume.as_deref()).await }).await?;
        Ok(got.map(|entries| entries.into_iter().map(from_entry).collect()))
    }
}

pub(super) const fn into(access: Access) -> node::Access {
    match access {
        Access::ReadWrite => node::Access::ReadWrite,
        Access::ReadOnly => node::Access::ReadOnly,
    }
}

fn from_usage(usage: node::Usage) -> Usage {
    let unit = match usage.unit {
        node::UsageUnit::Bytes => UsageUnit::Bytes,
        node::UsageUnit::Inodes => UsageUnit::Inodes,
    };
    Usage { available: usage.available, total: usage.total, used: usage.used, unit }
}

fn from_entry(entry: node::LedgerEntry) -> LedgerEntry {
    let kind = match entry.kind {
        node::EntryKind::Device => EntryKind::Device,
        node::EntryKind::Mount => EntryKind::Mount,
        node::EntryKind::Bind => EntryKind::Bind,
        node::EntryKind::Block => EntryKind::Block,
        node::EntryKind::Freeze => EntryKind::Freeze,
    };
    let access = match entry.access {
        node::Access::ReadWrite => Access::ReadWrite,
        node::Access::ReadOnly => Access::ReadOnly,
    };
    LedgerEntry { volume: entry.volume, kind, path: entry.path, access }
}

fn explain(error: NodeError) -> Error {
    let code = match error.code {
        NodeCode::NotGranted => ErrorCode::NotGranted,
        NodeCode::NotAllowed => ErrorCode::NotAllowed,
        NodeCode::NotFound => ErrorCode::NotFound,
        NodeCode::AlreadyExists => ErrorCode::AlreadyExists,
        NodeCode::Invalid => ErrorCode::Invalid,
        NodeCode::Busy => ErrorCode::Busy,
        NodeCode::Unsupported => ErrorCode::Unsupported,
        NodeCode::NoSpace => ErrorCode::NoSpace,
        NodeCode::ReadOnly => ErrorCode::ReadOnly,
        NodeCode::Limit => ErrorCode::Limit,
        NodeCode::Failed | NodeCode::Gone => ErrorCode::Failed,
    };
    Error { code, message: error.message }
}
