//! Snapshots, restoring and cloning.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, PAGES, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::volume_content_source::{SnapshotSource, Type, VolumeSource};

rules! {
    "X-51" => cut, "X-52" => cut_again, "X-53" => bad_character, "X-54" => of_unknown, "X-55" => listed_by_id,
    "X-56" => listed_by_source, "X-57" => pages, "X-58" => negative_entries, "X-59" => bad_token, "X-60" => got,
    "X-61" => restored, "X-62" => cloned, "X-63" => too_small, "X-64" => source_deleted, "X-65" => deleted_again,
}

/// A snapshot as content of a volume.
pub(super) fn from_snapshot(id: &str) -> v1::VolumeContentSource {
    v1::VolumeContentSource { r#type: Some(Type::Snapshot(SnapshotSource { snapshot_id: id.to_owned() })) }
}

async fn cut(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let volume = t.volume().await?;
    let got = t.ok(t.new_snapshot(&volume.volume_id)).await?;
    let made = got.part(|it| it.snapshot.clone(), "snapshot")?;
    got.check((1..=128).contains(&made.snapshot_id.len()), "snapshot_id is empty or has more than 128 bytes")?;
    got.check(made.source_volume_id == volume.volume_id, "source_volume_id is another one")?;
    got.check(made.creation_time.is_some(), "creation_time is not set")?;
    got.check(made.size_bytes >= 0, "size_bytes is negative")
}

async fn cut_again(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let request = t.new_snapshot(&t.volume().await?.volume_id);
    let first = t.given(request.clone()).await?;
    let again = t.ok(request).await?;
    let key =
        |it: &v1::CreateSnapshotResponse| it.snapshot.as_ref().map(|it| (it.snapshot_id.clone(), it.creation_time));
    again.check(key(&first) == key(&again), "the same name has another snapshot_id or creation_time now")
}

async fn bad_character(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let mut request = t.new_snapshot(&t.volume().await?.volume_id);
    request.name.push('\u{1}');
    t.expect(request, &[Code::InvalidArgument]).await
}

async fn of_unknown(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    t.expect(t.new_snapshot(&t.unknown()), &[Code::NotFound]).await
}

fn ids(page: &v1::ListSnapshotsResponse) -> BTreeSet<String> {
    page.entries.iter().filter_map(|it| it.snapshot.as_ref()).map(|it| it.snapshot_id.clone()).collect()
}

async fn listed_by_id(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListSnapshots)?;
    let made = t.snapshot(&t.volume().await?.volume_id).await?.snapshot_id;
    let none = t.ok(v1::ListSnapshotsRequest { snapshot_id: t.unknown(), ..Default::default() }).await?;
    none.check(none.entries.is_empty(), "an unknown snapshot_id finds something")?;
    let one = t.ok(v1::ListSnapshotsRequest { snapshot_id: made.clone(), ..Default::default() }).await?;
    one.check(ids(&one) == BTreeSet::from([made]), "a snapshot_id does not find that snapshot alone")
}

async fn listed_by_source(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListSnapshots)?;
    let (first, second) = (t.volume().await?.volume_id, t.volume().await?.volume_id);
    let mine = t.snapshot(&first).await?.snapshot_id;
    t.snapshot(&second).await?;
    let got = t.ok(v1::ListSnapshotsRequest { source_volume_id: first, ..Default::default() }).await?;
    got.check(ids(&got) == BTreeSet::from([mine]), "source_volume_id does not find exactly that volume's snapshots")
}

async fn pages(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListSnapshots)?;
    let volume = t.volume().await?.volume_id;
    let mut made = BTreeSet::new();
    for _ in 0..3 {
        made.insert(t.snapshot(&volume).await?.snapshot_id);
    }
    let mut found = BTreeSet::new();
    let mut token = String::new();
    for _ in 0..PAGES {
        let page = t.ok(v1::ListSnapshotsRequest {
            max_entries: 1,
            starting_token: token.clone(),
            source_volume_id: volume.clone(),
            ..Default::default()
        });
        let page = page.await?;
        page.check(page.entries.len() <= 1, "a page has more entries than max_entries")?;
        found.extend(ids(&page));
        token.clone_from(&page.next_token);
        if token.is_empty() {
            return page.check(found == made, "the pages do not hold exactly the three snapshots");
        }
    }
    Err(Stop::Fail("the pages do not end".to_owned(), None))
}

async fn negative_entries(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListSnapshots)?;
    t.expect(v1::ListSnapshotsRequest { max_entries: -1, ..Default::default() }, &[Code::InvalidArgument]).await
}

async fn bad_token(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListSnapshots)?;
    let starting_token = "invalid-token".to_owned();
    t.expect(v1::ListSnapshotsRequest { starting_token, ..Default::default() }, &[Code::Aborted]).await
}

async fn got(t: Trial<'_>) -> Outcome {
    t.needs(Controller::GetSnapshot)?;
    let made = t.snapshot(&t.volume().await?.volume_id).await?;
    let snapshot_id = made.snapshot_id.clone();
    let got = t.ok(v1::GetSnapshotRequest { snapshot_id, ..Default::default() }).await?;
    let found = got.part(|it| it.snapshot.clone(), "snapshot")?;
    let key = |it: &v1::Snapshot| (it.snapshot_id.clone(), it.source_volume_id.clone(), it.creation_time);
    got.check(key(&found) == key(&made), "the snapshot is not told as CreateSnapshot did")
}

/// A volume from a source, and whether the answer names that source.
async fn from(t: Trial<'_>, source: v1::VolumeContentSource) -> Outcome {
    let mut request = t.new_volume();
    request.volume_content_source = Some(source.clone());
    let got = t.patient(request, &[Code::Aborted, Code::Unavailable]).await.ok()?;
    let volume = got.part(|it| it.volume.clone(), "volume")?;
    got.check(volume.content_source == Some(source), "content_source is not the source asked for")
}

async fn restored(t: Trial<'_>) -> Outcome {
    let snapshot = t.snapshot(&t.volume().await?.volume_id).await?;
    from(t, from_snapshot(&snapshot.snapshot_id)).await
}

async fn cloned(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CloneVolume)?;
    let volume_id = t.volume().await?.volume_id;
    from(t, v1::VolumeContentSource { r#type: Some(Type::Volume(VolumeSource { volume_id })) }).await
}

async fn too_small(t: Trial<'_>) -> Outcome {
    let snapshot = t.snapshot(&t.volume().await?.volume_id).await?;
    if snapshot.size_bytes < 2 {
        return Err(Stop::Skip("the snapshot does not tell its size".to_owned()));
    }
    let small = snapshot.size_bytes / 2;
    let mut request = t.new_volume();
    request.capacity_range = Some(v1::CapacityRange { required_bytes: small, limit_bytes: small });
    request.volume_content_source = Some(from_snapshot(&snapshot.snapshot_id));
    t.expect(request, &[Code::OutOfRange]).await
}

async fn source_deleted(t: Trial<'_>) -> Outcome {
    let volume = t.volume().await?;
    let snapshot = t.snapshot(&volume.volume_id).await?;
    let answer = t.call(v1::DeleteVolumeRequest { volume_id: volume.volume_id, ..Default::default() }).await;
    answer.is(&[Code::Ok, Code::FailedPrecondition])?;
    if !answer.is_ok() {
        return Ok(());
    }
    let mut request = t.new_volume();
    request.volume_content_source = Some(from_snapshot(&snapshot.snapshot_id));
    t.patient(request, &[Code::Aborted, Code::Unavailable]).await.ok().map(drop)
}

async fn deleted_again(t: Trial<'_>) -> Outcome {
    let snapshot_id = t.snapshot(&t.volume().await?.volume_id).await?.snapshot_id;
    let request = v1::DeleteSnapshotRequest { snapshot_id, ..Default::default() };
    t.given(request.clone()).await?;
    t.ok(request).await.map(drop)
}
