//! A driver in the test's own process, and a transcript of what it tells.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser as _;
use tempfile::TempDir;
use tonic::{Request, Response, Status};

use crate::call::{Endpoint, Role};
use crate::options::{Options, Shape};
use crate::pb::csi::v1::volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume, access_mode::Mode};
use crate::pb::csi::v1::*;
use crate::pb::identity as addons;
use crate::pb::identity::identity_server::Identity as AddonsIdentity;
use controller_server::Controller as _;
use identity_server::Identity as _;
use node_server::Node as _;

/// What was told, line by line.
pub(super) type Transcript = Vec<String>;

/// A driver with a socketless endpoint for each of its sockets.
pub(super) struct Driver {
    pub(super) first: Endpoint,
    pub(super) second: Endpoint,
    pub(super) peer: Endpoint,
    pub(super) told: Transcript,
    pub(super) shape: Shape,
    directory: TempDir,
}

/// The secret that the layout with secrets demands.
pub(super) const SECRET: (&str, &str) = ("token", "opensesame");

/// Calls and writes down the answer, which it gives back.
macro_rules! say {
    ($driver:ident, $endpoint:ident.$method:ident, $request:expr) => {{
        let endpoint = $driver.$endpoint.clone();
        let answer = endpoint.$method(tonic::Request::new($request)).await;
        $driver.note(stringify!($method), answer)
    }};
}
pub(super) use say;

impl Driver {
    pub(super) fn new(shape: Shape, broken: Option<&'static str>) -> Self {
        let mut options =
            Options::parse_from(["liar", "--csi", "x", "--node", "y", "--existing", "before", "--work", "0"]);
        (options.layout, options.broken) = (shape, broken);
        if shape == Shape::Secrets {
            options.secret.push((SECRET.0.to_owned(), SECRET.1.to_owned()));
        }
        let directory = tempfile::tempdir().unwrap();
        options.cut_by = Some(directory.path().join("cut"));
        options.killed_by = Some(directory.path().join("killed"));
        let shared = crate::shared(&options);
        let role = if shape == Shape::NodeOnly { Role::Node } else { Role::Unified };
        let endpoint = |site, role, node| Endpoint { shared: Arc::clone(&shared), site, role, node };
        let second = endpoint(0, Role::Node, usize::from(shape != Shape::Split));
        Self { first: endpoint(0, role, 0), second, peer: endpoint(1, role, 0), told: Vec::new(), shape, directory }
    }

    /// Writes an answer down, without what differs from run to run.
    pub(super) fn note<T: Debug>(&mut self, method: &str, answer: Result<Response<T>, Status>) -> Option<T> {
        let here = self.directory.path().to_string_lossy().into_owned();
        let (line, value) = match answer {
            Ok(answer) => {
                let value = answer.into_inner();
                (format!("{value:?}"), Some(value))
            }
            Err(status) => (format!("{:?} {:?} {:?}", status.code(), status.message(), status.details()), None),
        };
        self.told.push(format!("{method}: {}", line.replace(&here, "")));
        value
    }

    pub(super) fn path(&self, name: &str) -> String {
        let path: PathBuf = self.directory.path().join(name);
        path.to_string_lossy().into_owned()
    }

    pub(super) fn secrets(&self) -> BTreeMap<String, String> {
        let (key, value) = SECRET;
        let demanded = self.shape == Shape::Secrets;
        if demanded { BTreeMap::from([(key.to_owned(), value.to_owned())]) } else { BTreeMap::new() }
    }

    pub(super) async fn walk_identity(&mut self) {
        for second in [false, true] {
            let endpoint = if second { self.second.clone() } else { self.first.clone() };
            let answer = endpoint.get_plugin_info(Request::new(GetPluginInfoRequest {})).await;
            self.note("info", answer);
            let answer = endpoint.get_plugin_capabilities(Request::new(GetPluginCapabilitiesRequest {})).await;
            self.note("plugin capabilities", answer);
            let answer = identity_server::Identity::probe(&endpoint, Request::new(ProbeRequest {})).await;
            self.note("probe", answer);
            let answer = AddonsIdentity::get_identity(&endpoint, Request::new(addons::GetIdentityRequest {})).await;
            self.note("identity", answer);
            let answer =
                AddonsIdentity::get_capabilities(&endpoint, Request::new(addons::GetCapabilitiesRequest {})).await;
            self.note("capabilities", answer);
            let answer = AddonsIdentity::probe(&endpoint, Request::new(addons::ProbeRequest {})).await;
            self.note("probe", answer);
        }
        say!(self, first.controller_get_capabilities, ControllerGetCapabilitiesRequest {});
        say!(self, first.node_get_capabilities, NodeGetCapabilitiesRequest {});
        say!(self, first.node_get_info, NodeGetInfoRequest {});
    }
}

/// A capability to mount in some mode.
pub(super) fn mount(mode: Mode) -> VolumeCapability {
    let access_type = Some(AccessType::Mount(MountVolume::default()));
    VolumeCapability { access_mode: Some(AccessMode { mode: mode.into() }), access_type }
}

/// A capability for one writer.
pub(super) fn one_writer() -> VolumeCapability {
    mount(Mode::SingleNodeWriter)
}

/// The same for a block device.
pub(super) fn block() -> VolumeCapability {
    VolumeCapability { access_type: Some(AccessType::Block(BlockVolume {})), ..one_writer() }
}

pub(super) fn size(required_bytes: i64, limit_bytes: i64) -> Option<CapacityRange> {
    Some(CapacityRange { required_bytes, limit_bytes })
}

/// A map with one entry.
pub(super) fn entry(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}
