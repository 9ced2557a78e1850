//! A backend that does nothing: every volume exists as soon as it is asked for, and nothing is kept.
//! The benchmarks compare it with the same handler written natively; it is of no other use.

use drivebay_sdk::types::Volume;
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{Identity, Result, Volumes};

struct Echo;

impl Identity for Echo {
    const NAME: &'static str = "echo.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
}

impl Volumes for Echo {
    fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
        let size = request.capacity_range.and_then(|range| range.required_bytes).unwrap_or(1 << 30);
        let mut volume = Volume::new(format!("id-{}", request.name), size);
        volume.volume_context = request.parameters;
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
