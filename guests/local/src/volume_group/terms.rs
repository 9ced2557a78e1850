//! The parameter of a volume group: how many volumes it takes.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};
use local_pool::record::VolumeGroupRecord;

use crate::volume::wish;

/// How many volumes any group takes.
const MOST_VOLUMES: usize = VolumeGroupRecord::MOST_VOLUMES;

/// Reads `max-volumes`. `invalid-argument`: it is no number from 1 to [`MOST_VOLUMES`], or another
/// parameter is given.
pub(super) fn max_volumes(parameters: &StringMap) -> Result<usize> {
    let own = wish::without_client_keys(parameters);
    let mut own = Parameters::new(&own);
    let given = own.take("max-volumes");
    own.finish()?;
    let Some(text) = given else {
        return Ok(MOST_VOLUMES);
    };
    text.parse().ok().filter(|limit| (1..=MOST_VOLUMES).contains(limit)).ok_or_else(|| {
        Error::invalid_argument(format!("parameter max-volumes must be a number from 1 to {MOST_VOLUMES}"))
    })
}

#[cfg(test)]
mod tests;
