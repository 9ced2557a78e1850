//! Who this driver is and what it can do, as csi-addons asks: one message for each capability.

use crate::call::{Area, Cx, Role, serve};
use crate::pb::identity::capability::{self, Type};
use crate::pb::identity::*;
use crate::refusal::Answer;
use crate::rpc::rows::nothing;

serve! { "identity": identity_server::Identity, Area::Both;
    [open] get_identity(GetIdentityRequest) -> GetIdentityResponse, "", nothing, identity;
    [open] get_capabilities(GetCapabilitiesRequest) -> GetCapabilitiesResponse, "", nothing, capabilities;
    [open] probe(ProbeRequest) -> ProbeResponse, "", nothing, probe;
}

fn identity(cx: &mut Cx<'_>, _: &GetIdentityRequest) -> Answer<GetIdentityResponse> {
    let vendor_version = if cx.lies("X-07") { "" } else { "1.0.0" };
    let (name, vendor_version) = ("liar.example".to_owned(), vendor_version.to_owned());
    Ok(GetIdentityResponse { name, vendor_version, ..Default::default() })
}

fn capabilities(cx: &mut Cx<'_>, _: &GetCapabilitiesRequest) -> Answer<GetCapabilitiesResponse> {
    let (controller, node) = (cx.role != Role::Node, cx.role != Role::Controller);
    let offered = |area: &str| cx.layout.offered(area);
    let mut all: Vec<Type> = Vec::new();
    if controller {
        all.push(Type::Service(capability::Service { r#type: 1 }));
    }
    if node {
        all.push(Type::Service(capability::Service { r#type: 2 }));
    }
    let reclaim = offered("reclaim-space").into_iter().filter(|number| if *number == 1 { controller } else { node });
    all.extend(reclaim.map(|number| Type::ReclaimSpace(capability::ReclaimSpace { r#type: number })));
    if controller {
        let fence = offered("fence").into_iter();
        all.extend(fence.map(|number| Type::NetworkFence(capability::NetworkFence { r#type: number })));
        let replication = offered("replication").into_iter();
        all.extend(replication.map(|number| Type::VolumeReplication(capability::VolumeReplication { r#type: number })));
        let groups = offered("groups").into_iter();
        all.extend(groups.map(|number| Type::VolumeGroup(capability::VolumeGroup { r#type: number })));
    }
    if node {
        let keys = offered("keys").into_iter();
        all.extend(
            keys.map(|number| Type::EncryptionKeyRotation(capability::EncryptionKeyRotation { r#type: number })),
        );
    }
    if cx.lies("X-08") {
        all.push(Type::Service(capability::Service { r#type: 0 }));
    }
    Ok(GetCapabilitiesResponse { capabilities: all.into_iter().map(|one| Capability { r#type: Some(one) }).collect() })
}

fn probe(cx: &mut Cx<'_>, _: &ProbeRequest) -> Answer<ProbeResponse> {
    Ok(ProbeResponse { ready: Some(!cx.lies("X-09")) })
}
