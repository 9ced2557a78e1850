//! A driver that is killed and started again has what it had acknowledged, and nothing that it had deleted.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use super::volumes::{delete, listed};
use crate::trial::{Outcome, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;

rules! {;
    alone: "X-146" => pages_after_a_kill,
}

/// Kills the driver between two pages, right after volumes were made and deleted.
async fn pages_after_a_kill(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    if t.with().kill.is_none() {
        return Err(Stop::Skip("--with gives no kill".to_owned()));
    }
    let ids = |volumes: Vec<v1::Volume>| volumes.into_iter().map(|volume| volume.volume_id).collect::<BTreeSet<_>>();
    let mut made = ids(t.volumes(3).await?);
    let page = t.given(v1::ListVolumesRequest { max_entries: 1, ..Default::default() }).await?;
    let shown = page.entries.first().and_then(|it| it.volume.as_ref()).map(|it| it.volume_id.clone());
    let gone = made.iter().find(|id| Some(*id) != shown.as_ref()).cloned().unwrap_or_default();
    t.given(delete(&gone)).await?;
    made.remove(&gone);
    made.extend(ids(vec![t.volume().await?]));
    t.kill().await?;
    let starting_token = page.next_token.clone();
    let request = v1::ListVolumesRequest { max_entries: 1, starting_token };
    t.patient(request, &[Code::Unavailable]).await.is(&[Code::Ok, Code::Aborted])?;
    let found = listed(t, 1).await?;
    if let Some(lost) = made.difference(&found).next() {
        return Err(Stop::Fail(
            format!("the volume {lost} was made before the driver was killed, and is not listed"),
            None,
        ));
    }
    if found.contains(&gone) {
        return Err(Stop::Fail(
            format!("the volume {gone} was deleted before the driver was killed, and is listed"),
            None,
        ));
    }
    Ok(())
}
