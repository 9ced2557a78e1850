//! One component: from what loading found to facts and words. Owns what counts as a problem and what
//! as a warning.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;
use tonic::{Request, Response, Status};

use super::places;
use super::report::{ComponentReport, Grant, StateVersion};
use drivebay_backend::{Backend, Described, Environment, FactError, Inspection, Refused, Wanted, WantedNeed};
use drivebay_contract::Interface;
use drivebay_files::Programs;
use drivebay_policy::limits::Limits;
use drivebay_policy::{
    BackendConfig, BackgroundConfig, ComponentSource, DRAIN, InstancePolicy, SOCKET_MODE, Sockets, TRIAL,
};
use drivebay_proto::pb::csi::v1::controller_server::Controller;
use drivebay_proto::pb::csi::v1::group_controller_server::GroupController;
use drivebay_proto::pb::csi::v1::identity_server::Identity;
use drivebay_proto::pb::csi::v1::node_server::Node;
use drivebay_proto::pb::identity::identity_server::Identity as AddonsIdentity;
use drivebay_rpc::{Front, Role};
use drivebay_sandbox::loading::Shape;

/// Where the contract's interfaces stand.
const CONTRACT: &str = "drivebay:backend/";

/// What missing grants mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grants {
    /// Nobody has been asked yet.
    Open,
    /// The operator has decided.
    Configured,
}

/// The configuration of a component that is looked at by itself.
pub(super) fn ungranted(component: ComponentSource) -> BackendConfig {
    BackendConfig {
        name: "check".to_owned(),
        component,
        package: None,
        sockets: Sockets { mode: SOCKET_MODE, ..Sockets::default() },
        node_id: Some("check".to_owned()),
        settings: Vec::new(),
        alpha: true,
        legacy_condition: false,
        digest: None,
        signers: Vec::new(),
        grants: drivebay_policy::Grants::default(),
        limits: Limits::default(),
        instances: InstancePolicy::Fresh,
        drain: DRAIN,
        trial: TRIAL,
        background: BackgroundConfig::default(),
    }
}

/// Looks at a backend's component.
///
/// # Errors
/// When the file cannot be read.
pub(super) async fn check(
    config: BackendConfig,
    environment: &Environment,
    grants: Grants,
) -> anyhow::Result<ComponentReport> {
    let file = match &config.component {
        ComponentSource::Local => "local".to_owned(),
        ComponentSource::File(path) => path.display().to_string(),
    };
    let granted = config.grants.clone();
    let Inspection { size, digest, shape, described, refused } = inspected(config, environment).await?;
    let mut report = ComponentReport::of(file);
    report.size = Some(size);
    report.digest = Some(format!("sha256:{digest}"));
    if let Some(shape) = shape {
        if grants == Grants::Configured {
            report.warnings.extend(granted.warnings(&shape.imports));
        }
        interfaces(shape, &mut report);
    }
    report.warnings.extend(places::programs(&report.imports, &granted.attach, &Programs::system()));
    report.warnings.extend(places::kernel(&granted.attach, Path::new("/")));
    if let Some(described) = described {
        facts(described, &mut report).await;
    }
    report.problems.extend(refused.and_then(|refused| problem(&refused, grants)));
    Ok(report)
}

/// As `inspect`; its words already end with what the system says, so the cause is not kept.
async fn inspected(config: BackendConfig, environment: &Environment) -> anyhow::Result<Inspection> {
    drivebay_backend::inspect(config, environment).await.map_err(|refused| anyhow::anyhow!("{refused}"))
}

/// Sorts the names of interfaces, and warns of exports that nobody will call and of what is oddly absent.
fn interfaces(shape: Shape, report: &mut ComponentReport) {
    let known = Interface::ALL.map(Interface::name);
    let (mut exports, foreign): (Vec<_>, Vec<_>) =
        shape.exports.into_iter().partition(|name| known.contains(&name.as_str()));
    report.warnings.extend(foreign.iter().filter_map(|export| uncalled(export, &known)));
    report.warnings.extend(without_randomness(&exports, &shape.imports));
    exports.sort_by_key(|name| known.iter().position(|interface| interface == name));
    exports.extend(foreign.into_iter().filter(|name| name.starts_with(CONTRACT)));
    report.interfaces = exports;
    report.imports = shape.imports;
    report.imports.sort();
}

/// What to say of an export that nobody calls; none: its author does not expect that. A name without a package is a
/// toolchain's own (`exports`), unless it is one that the contract has under its package.
fn uncalled(export: &str, known: &[&str]) -> Option<String> {
    let nobody = format!("it exports {export}, which is not in this host's contract and is never called");
    let (path, version) = export.split_once('@').unwrap_or((export, ""));
    let paths = known.iter().filter_map(|known| Some((known.split_once('@')?, known)));
    for ((known_path, known_version), name) in paths {
        // Loading refuses it for that, in its own words.
        if path == known_path && version != known_version {
            return None;
        }
        if known_path.strip_prefix(CONTRACT) == Some(path) {
            return Some(format!("it exports {export}, which is never called: the contract's interface is {name}"));
        }
    }
    export.contains(':').then_some(nobody)
}

/// Interfaces whose answers hold ids that the backend makes.
const MAKERS: [&str; 4] = ["volumes", "snapshots", "group-snapshots", "volume-groups"];

/// A fresh instance begins like every other: what it draws without the host's random numbers, all draw.
fn without_randomness(exports: &[String], imports: &[String]) -> Option<String> {
    let makes = exports.iter().find(|name| {
        let short = name.strip_prefix(CONTRACT).and_then(|name| name.split_once('@'));
        short.is_some_and(|(short, _)| MAKERS.contains(&short))
    })?;
    let is_random = imports.iter().any(|name| name.starts_with("wasi:random/"));
    (!is_random).then(|| {
        format!(
            "it exports {makes} and imports no random numbers (wasi:random): every call runs in a fresh instance, so ids \
             that it draws by itself are the same in all calls"
        )
    })
}

/// What it says of itself, and what clients would be told.
async fn facts(described: Described, report: &mut ComponentReport) {
    let Described { backend, wants, unknown_features } = described;
    if let Some(generation) = backend.generation() {
        let facts = &generation.facts;
        report.name = Some(facts.name.clone());
        report.version = Some(facts.version.clone());
        report.state_version = Some(StateVersion { writes: facts.state_version.0, reads_from: facts.state_version.1 });
        report.features = facts.abilities.features().map(|feature| feature.name().to_owned()).collect();
    }
    report.warnings.extend(
        unknown_features.into_iter().map(|name| {
            format!("it describes the feature \"{name}\", which this host does not know: check its spelling")
        }),
    );
    report.capabilities = capabilities(backend).await;
    report.grants = wants.into_iter().map(grant).collect();
}

fn grant(wanted: Wanted) -> Grant {
    Grant { what: wanted.grant, required: wanted.need == WantedNeed::Required, given: wanted.given, why: wanted.why }
}

/// A refusal in words; none for missing grants where nobody has been asked for any.
fn problem(refused: &Refused, grants: Grants) -> Option<String> {
    match (refused, grants) {
        (Refused::Facts(FactError::Grants(_)), Grants::Open) => None,
        (Refused::Refusal { .. }, Grants::Open) => {
            Some(format!("{}; if it needs settings, check a configuration file that has them", refused.refusal().words))
        }
        _ => Some(refused.refusal().words),
    }
}

/// What clients would be told, asked of the very code that tells them. A service that would answer
/// UNIMPLEMENTED is left out.
async fn capabilities(backend: Arc<Backend>) -> BTreeMap<&'static str, Vec<String>> {
    let front = Front::new(backend, Role::All);
    let plugin = front.get_plugin_capabilities(request()).await;
    let controller = front.controller_get_capabilities(request()).await;
    let group = front.group_controller_get_capabilities(request()).await;
    let node = front.node_get_capabilities(request()).await;
    let extra = AddonsIdentity::get_capabilities(&front, request()).await;
    let told = [
        ("plugin", names(plugin, "csi.v1.GetPluginCapabilitiesResponse")),
        ("controller", names(controller, "csi.v1.ControllerGetCapabilitiesResponse")),
        ("group-controller", names(group, "csi.v1.GroupControllerGetCapabilitiesResponse")),
        ("node", names(node, "csi.v1.NodeGetCapabilitiesResponse")),
        ("add-ons", names(extra, "identity.GetCapabilitiesResponse")),
    ];
    told.into_iter().filter_map(|(service, names)| Some((service, names?))).collect()
}

fn request<T: Default>() -> Request<T> {
    Request::new(T::default())
}

/// The names in a list of capabilities: `CREATE_DELETE_VOLUME`, or with the kind in front where the
/// name alone says too little, as in `volume_expansion.ONLINE`.
fn names<T: Message>(answer: Result<Response<T>, Status>, message: &str) -> Option<Vec<String>> {
    let pool = DescriptorPool::decode(drivebay_proto::FILE_DESCRIPTOR_SET).ok()?;
    let descriptor = pool.get_message_by_name(message)?;
    let answer = answer.ok()?.into_inner().encode_to_vec();
    let answer = DynamicMessage::decode(descriptor, answer.as_slice()).ok()?;
    let spelling = SerializeOptions::new().use_proto_field_name(true);
    let json = answer.serialize_with_options(serde_json::value::Serializer, &spelling).ok()?;
    let each = json.get("capabilities").and_then(Value::as_array).into_iter().flatten();
    let kinds = each.filter_map(Value::as_object).flatten();
    let names = kinds.filter_map(|(kind, value)| {
        let name = value.get("type")?.as_str()?;
        Some(if matches!(kind.as_str(), "rpc" | "service") { name.to_owned() } else { format!("{kind}.{name}") })
    });
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(exports: &[&str], imports: &[&str]) -> Vec<String> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut report = ComponentReport::of("x.wasm".to_owned());
        interfaces(Shape { exports: own(exports), imports: own(imports) }, &mut report);
        report.warnings
    }

    #[test]
    fn exports_that_nobody_calls_are_warned_of_unless_a_toolchain_made_them() {
        let identity = "drivebay:backend/identity@0.1.0";
        assert_eq!(warnings(&[identity, "exports"], &[]), [""; 0]);
        // Refused by loading.
        assert_eq!(warnings(&[identity, "drivebay:backend/node@0.2.0"], &[]), [""; 0]);
        for (export, words) in [
            ("vendor:tools/debug@1.0.0", "which is not in this host's contract"),
            ("drivebay:backend/teleport@0.1.0", "which is not in this host's contract"),
            ("volumes", "the contract's interface is drivebay:backend/volumes@0.1.0"),
        ] {
            let found = warnings(&[identity, export], &[]);
            assert!(found.len() == 1 && found[0].contains(words), "{export}: {found:?}");
        }
    }

    #[test]
    fn ids_without_random_numbers_are_warned_of() {
        let random = "wasi:random/random@0.2.6";
        for (export, imports, is_warned) in [
            ("volumes", vec!["wasi:io/error@0.2.6"], true),
            ("snapshots", vec![], true),
            ("volumes", vec![random], false),
            ("node", vec![], false),
        ] {
            let export = format!("drivebay:backend/{export}@0.1.0");
            let found = warnings(&[&export], &imports);
            assert_eq!(
                found.iter().any(|words| words.contains("wasi:random")),
                is_warned,
                "{export} {imports:?} {found:?}"
            );
        }
    }
}
