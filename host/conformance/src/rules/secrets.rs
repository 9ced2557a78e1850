//! Wrong secrets. What a message must not hold is looked at in every answer of the run.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Stop, Trial};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;

rules! { "X-123" => refused }

/// The right keys with other values, for a call that has secrets.
pub(super) fn wrong(t: Trial<'_>, call: &str) -> Result<Words, Stop> {
    let right = t.with().secrets_of(call);
    if right.is_empty() {
        return Err(Stop::Skip(format!("--with gives no secrets for {call}")));
    }
    Ok(right.into_iter().map(|(key, value)| (key, format!("{value}-wrong"))).collect())
}

async fn refused(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let secrets = wrong(t, "CreateVolume")?;
    let request = v1::CreateVolumeRequest { secrets, ..t.new_volume() };
    t.expect(request, &[Code::Unauthenticated, Code::PermissionDenied]).await
}
