//! What a manifest of a registry says of the component in it: the one layer that is WebAssembly. Only what a signature
//! needs; making manifests is `package`'s.

use serde::Deserialize;

/// Media types of a component's layer: that of the CNCF's guidance, and those of the tools before it.
pub const WASM: [&str; 3] = [
    "application/wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.module.wasm.content.layer.v1+wasm",
];

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
}

/// SHA-256 of the component that a manifest names, in hexadecimal; none: it names none, or several.
pub fn component_of(manifest: &[u8]) -> Option<String> {
    let Manifest { layers } = serde_json::from_slice(manifest).ok()?;
    let mut components = layers.iter().filter(|layer| WASM.contains(&layer.media_type.as_str()));
    let component = components.next().filter(|_| components.next().is_none())?;
    component.digest.strip_prefix("sha256:").map(str::to_owned)
}
