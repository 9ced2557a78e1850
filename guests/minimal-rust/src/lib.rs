//! The smallest controller: volumes are records in the host's state and nowhere else.
//!
//! It decides what a request means; how it is remembered is in `records`. `cargo test` runs it on the SDK's
//! host for tests.

mod misbehave;
mod records;
#[cfg(test)]
mod tests;

use drivebay_sdk::types::{CapacityRange, StringMap, Volume};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Error, Identity, Reason, Result, Volumes, log};

use records::Record;

/// As large as a volume is when the client does not say: 1 GiB.
const DEFAULT_BYTES: u64 = 1 << 30;

struct Minimal;

impl Identity for Minimal {
    const NAME: &'static str = "minimal-rust.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn manifest() -> StringMap {
        vec![pair(LANGUAGE)]
    }
}

impl Volumes for Minimal {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        misbehave::where_asked(&request.parameters)?;
        if request.volume_content_source.is_some() {
            return Err(Error::invalid_argument("this backend copies nothing"));
        }
        let bytes = CapacityRange::choose(request.capacity_range, DEFAULT_BYTES, 1)?;
        let told = Volume { volume_context: context(&request.parameters), ..Volume::new("", bytes) };
        let (record, volume) = records::find_or_create(&request.name, &request.parameters, &told)?;
        let fits = request.capacity_range.is_none_or(|range| range.contains(record.capacity_bytes));
        if !fits || record.parameters != records::fingerprint(&request.parameters) {
            let words = "a volume of this name has another size or other parameters";
            return Err(Error::already_exists(words).with_reason(Reason::Incompatible));
        }
        log::info("volumes", format!("{} is {}", request.name, record.volume_id));
        Ok(volume)
    }

    fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
        records::delete(&request.volume_id)
    }

    fn validate_volume_capabilities(request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        let Some(record) = records::find(&request.volume_id)? else {
            return Err(Error::not_found(format!("there is no volume {}", request.volume_id)));
        };
        if request.volume_context.is_empty() || is_context(&request.volume_context, &record) {
            return Ok(Verdict::Supported);
        }
        Ok(Verdict::Unsupported("the volume has another context".to_owned()))
    }
}

const LANGUAGE: (&str, &str) = ("language", "rust");
/// What the keys of a volume's context begin with that hold its parameters.
const PARAMETER: &str = "parameter.";

/// What clients hand back with every later request for the volume.
fn context(parameters: &StringMap) -> StringMap {
    let given = parameters.iter().map(|(key, value)| (format!("{PARAMETER}{key}"), value.clone()));
    std::iter::once(pair(LANGUAGE)).chain(given).collect()
}

/// Whether this is what `CreateVolume` said of the volume.
fn is_context(context: &StringMap, record: &Record) -> bool {
    let (parameters, others): (StringMap, StringMap) =
        context.iter().cloned().partition(|(key, _)| key.starts_with(PARAMETER));
    let bare = |(key, value): (String, String)| (key.strip_prefix(PARAMETER).unwrap_or_default().to_owned(), value);
    let parameters: StringMap = parameters.into_iter().map(bare).collect();
    others == [pair(LANGUAGE)] && records::fingerprint(&parameters) == record.parameters
}

fn pair((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

drivebay_sdk::export!(Minimal: identity, volumes);
