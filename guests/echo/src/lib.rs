//! A backend that does nothing: every volume exists as soon as it is asked for, and nothing is kept.
//! The benchmarks compare it with the same handler written natively; it is of no other use.

use drivebay_sdk::identity::Description;
use drivebay_sdk::types::Volume;
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Identity, Result, Volumes};

struct Echo;

/// Tests change the version in the compiled file; it keeps its length.
static STAMP: &str = "echo-stamp version=1.0.1000 ";

fn version() -> &'static str {
    // Whatever the compiler knew of the text would no longer be true of a changed file.
    let stamp = std::hint::black_box(STAMP);
    stamp.split(' ').find_map(|field| field.strip_prefix("version=")).unwrap_or_default()
}

impl Identity for Echo {
    const NAME: &'static str = "echo.drivebay.dev";
    /// Not its version, which stands in the stamp.
    const VERSION: &'static str = "0.0.0";

    fn describe() -> Result<Description> {
        Ok(Description {
            name: Self::NAME.to_owned(),
            vendor_version: version().to_owned(),
            manifest: Self::manifest(),
            features: Vec::new(),
            state_version: Self::state_version(),
            wants: Self::wants(),
        })
    }
}

/// What a backend may have to work out: about a nanosecond a round.
fn compute(rounds: u64) {
    let sum = (0..rounds).fold(0_u64, |sum, round| std::hint::black_box(sum.rotate_left(5) ^ round));
    std::hint::black_box(sum);
}

impl Volumes for Echo {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        let size = request.capacity_range.and_then(|range| range.required_bytes).unwrap_or(1 << 30);
        if let Some((_, rounds)) = request.parameters.iter().find(|(key, _)| key == "rounds") {
            compute(rounds.parse().unwrap_or_default());
        }
        let mut volume = Volume::new(format!("id-{}", request.name), size);
        volume.volume_context = request.parameters;
        if let Some((_, asked)) = volume.volume_context.iter_mut().find(|(key, _)| key == "version") {
            version().clone_into(asked);
        }
        Ok(volume)
    }

    fn delete_volume(_request: DeleteVolumeRequest) -> Result<()> {
        Ok(())
    }

    fn validate_volume_capabilities(_request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        Ok(Verdict::Supported)
    }
}

drivebay_sdk::export!(Echo: identity, volumes);
