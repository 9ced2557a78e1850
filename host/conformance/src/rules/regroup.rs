//! Volume groups that have changed since they were made, or whose names and volumes belong elsewhere.

use tonic::Code;

use super::groups::{GROUPS, delete, modify, needs};
use super::rules;
use crate::trial::{Outcome, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::identity::capability::volume_group::Type as Groups;
use crate::wire::proto::volumegroup as g;

rules! { "G-02b" => g02b, "G-03b" => g03b, "G-09d" => g09d, "G-15b" => g15b }

async fn g02b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let volume = t.volume().await?;
    let request = t.new_group(&[&volume]);
    let id = |it: &g::CreateVolumeGroupResponse| it.volume_group.as_ref().map(|it| it.volume_group_id.clone());
    let first = t.given(request.clone()).await?;
    let group = id(&first).unwrap_or_default();
    t.given(modify(&group, &[])).await?;
    let answer = t.patient(request, &[Code::Aborted]).await;
    answer.is(&[Code::Ok, Code::AlreadyExists])?;
    if !answer.is_ok() {
        return Ok(());
    }
    let again = answer.ok()?;
    again.check(id(&again) == Some(group), "the same name has another volume_group_id now")
}

async fn g03b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let volumes = t.volumes(2).await?;
    let request = t.new_group(&volumes.iter().take(1).collect::<Vec<_>>());
    t.given(request.clone()).await?;
    t.group(&volumes.iter().skip(1).collect::<Vec<_>>()).await?;
    let other = volumes.iter().skip(1).map(|it| it.volume_id.clone()).collect();
    let wrong = g::CreateVolumeGroupRequest { volume_ids: other, ..request };
    for _ in 0..5 {
        t.expect(wrong.clone(), &[Code::AlreadyExists, Code::InvalidArgument, Code::FailedPrecondition]).await?;
    }
    t.ok(t.new_volume()).await.map(drop)
}

async fn g09d(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let volume = t.volume().await?;
    t.group(&[&volume]).await?;
    let wanted = [volume.volume_id.as_str(), &t.unknown()];
    t.expect(modify(&t.unknown(), &wanted), &[Code::NotFound]).await
}

async fn g15b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    if t.addon(GROUPS, Groups::DoNotAllowVgToDeleteVolumes) {
        return Err(Stop::Skip("groups may not delete their volumes".to_owned()));
    }
    let volumes = t.volumes(2).await?;
    for volume in &volumes {
        t.snapshot(&volume.volume_id).await?;
    }
    let group = t.group(&volumes.iter().skip(1).collect::<Vec<_>>()).await?;
    let alone = volumes.first().map(|it| it.volume_id.clone()).unwrap_or_default();
    let deleted = t.patient(v1::DeleteVolumeRequest { volume_id: alone, ..Default::default() }, &[Code::Aborted]).await;
    let code = if deleted.is_ok() { Code::Ok } else { Code::FailedPrecondition };
    t.expect(delete(&group.volume_group_id), &[code]).await
}
