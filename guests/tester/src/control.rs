//! The tests' way in: volumes called `control-…` are no volumes but changes to the state.
//!
//! Their parameters say what: `set:KEY` = VALUE, `unset:KEY`, and `get:PREFIX`, whose entries come
//! back in the volume's context. It owns no meaning of any key.

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::Volume;
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Result, log};

use crate::act;

/// Carries out a control request; none: it is a request for a volume.
pub(crate) fn run(request: &CreateVolumeRequest) -> Result<Option<Volume>> {
    if !request.name.starts_with("control-") {
        return Ok(None);
    }
    act::used();
    // What was said before has been said: this line shows a reader of the log how far it has come.
    log::info("tester", format!("carries out {}", request.name));
    let (mut commit, mut context) = (Commit::new(), Vec::new());
    for (parameter, value) in &request.parameters {
        commit = match parameter.split_once(':') {
            Some(("set", key)) => commit.put(key, value.as_str()),
            Some(("unset", key)) => commit.delete(key),
            Some(("get", prefix)) => {
                for entry in state::range(prefix) {
                    let entry = entry?;
                    context.push((entry.key, String::from_utf8_lossy(&entry.value).into_owned()));
                }
                commit
            }
            _ => return Err(Error::invalid_argument(format!("no control: {parameter}"))),
        };
    }
    commit.run()?;
    Ok(Some(Volume { volume_context: context, ..Volume::new(request.name.as_str(), 1 << 30) }))
}
