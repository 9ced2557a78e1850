//! `drivebay:host/attach`: storage over a network, handed to the helper process as all node work is.

use super::mounts::{Answer, into};
use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::attach::{
    Chap, ConnectRequest, DhChap, Health, Host, IscsiTarget, NvmeTcpTarget, PortalState, Share, ShareRequest, Target,
};
use drivebay_node::{self as node, Caller, Node, Secret};

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

    async fn connect(&mut self, request: ConnectRequest) -> Answer<()> {
        let target = match request.target {
            Target::Iscsi(target) => node::Target::Iscsi(iscsi(target)),
            Target::NvmeTcp(target) => node::Target::NvmeTcp(nvme_tcp(target)),
        };
        let request = node::ConnectRequest {
            volume: request.volume,
            target,
            identity: request.identity,
            access: into(request.access),
        };
        self.node(move |n: Node, c: Caller| async move { n.connect(&c, request).await }).await
    }

    async fn disconnect(&mut self, volume: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.disconnect(&c, &volume).await }).await
    }

    async fn encrypt(&mut self, volume: String, passphrase: String) -> Answer<()> {
        let passphrase = Secret::new(passphrase);
        self.node(move |n: Node, c: Caller| async move { n.encrypt(&c, &volume, passphrase).await }).await
    }

    async fn unlock(&mut self, volume: String, passphrase: String) -> Answer<()> {
        let passphrase = Secret::new(passphrase);
        self.node(move |n: Node, c: Caller| async move { n.unlock(&c, &volume, passphrase).await }).await
    }

    async fn change_passphrase(&mut self, volume: String, old: String, new: String) -> Answer<()> {
        let (old, new) = (Secret::new(old), Secret::new(new));
        self.node(move |n: Node, c: Caller| async move { n.change_passphrase(&c, &volume, old, new).await }).await
    }

    async fn make_file_system(&mut self, volume: String, file_system: String) -> Answer<()> {
        self.node(move |n: Node, c: Caller| async move { n.make_file_system(&c, &volume, &file_system).await }).await
    }

    async fn get_health(&mut self, volume: String) -> Answer<Health> {
        let work = move |n: Node, c: Caller| async move { n.get_health(&c, &volume).await.map(health) };
        self.node(work).await
    }
}

fn iscsi(target: IscsiTarget) -> node::IscsiTarget {
    let login = |user, secret| node::Login { user, secret: Secret::new(secret) };
    let chap = |Chap { user, secret, target }| node::Chap {
        node: login(user, secret),
        target: target.map(|it| login(it.user, it.secret)),
    };
    let IscsiTarget { portals, iqn, lun, chap: given } = target;
    node::IscsiTarget { portals, iqn, lun, chap: given.map(chap) }
}

fn nvme_tcp(target: NvmeTcpTarget) -> node::NvmeTcpTarget {
    let proof = |DhChap { host_secret, controller_secret }| node::DhChap {
        host: Secret::new(host_secret),
        controller: controller_secret.map(Secret::new),
    };
    let NvmeTcpTarget { portals, nqn, namespace_id, dh_chap } = target;
    node::NvmeTcpTarget { portals, nqn, namespace: namespace_id, dh_chap: dh_chap.map(proof) }
}

fn health(found: node::Health) -> Health {
    let node::Health { portals, read_only, errors } = found;
    let portals = portals.into_iter().map(|(portal, usable)| PortalState { portal, usable }).collect();
    Health { portals, read_only, errors }
}
