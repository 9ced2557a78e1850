//! The same call many times at once, and many calls that have nothing to do with each other.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use crate::trial::{Answer, Outcome, Stop, Trial, lock};
use crate::wire::Rpc;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;
use crate::wire::proto::volumegroup as g;

rules! {
    "C-08" => c08, "X-96" => created, "X-97" => deleted, "X-98" => others, "X-99" => cut, "X-100" => grouped,
}

const COUNT: usize = 8;
const EITHER: &[Code] = &[Code::Ok, Code::Aborted];

/// Keeps an ABORTED for the rule about its message.
pub(super) fn note_aborted<R>(t: Trial<'_>, answer: &Answer<R>, names: &[&str]) {
    if answer.code() == Code::Aborted {
        lock(&t.run_context.ambient).look_aborted(names, answer.message());
    }
}

/// Sends the same request at once, and then once more: all ids are one.
async fn one_id<R: Rpc>(t: Trial<'_>, request: R, name: &str, id: fn(&R::Reply) -> Option<String>) -> Outcome {
    let mut ids = BTreeSet::new();
    for answer in t.burst(vec![request.clone(); COUNT]).await {
        note_aborted(t, &answer, &[name]);
        answer.is(EITHER)?;
        ids.extend(answer.reply().and_then(id));
    }
    let last = t.patient(request, &[Code::Aborted]).await.ok()?;
    ids.extend(id(&last));
    last.check(ids.len() == 1, "the same request, sent at once, has made several objects")
}

async fn c08(t: Trial<'_>) -> Outcome {
    let volume = t.volume().await?;
    let names = [volume.volume_id.as_str()];
    let capability = t.capability(Mode::SingleNodeWriter);
    let question = v1::ValidateVolumeCapabilitiesRequest {
        volume_id: volume.volume_id.clone(),
        volume_capabilities: vec![capability],
        ..Default::default()
    };
    let attach = if t.can(Controller::PublishUnpublishVolume) {
        let request = t.attach(&volume, 0)?;
        vec![request; COUNT / 2]
    } else {
        Vec::new()
    };
    let questions = vec![question; COUNT - attach.len()];
    let (questions, attached) = futures_util::future::join(t.burst(questions), t.burst(attach)).await;
    for answer in &questions {
        note_aborted(t, answer, &names);
        answer.is(EITHER)?;
    }
    for answer in &attached {
        note_aborted(t, answer, &names);
        answer.is(EITHER)?;
    }
    Ok(())
}

async fn created(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let request = t.new_volume();
    let name = request.name.clone();
    one_id(t, request, &name, |it| it.volume.as_ref().map(|it| it.volume_id.clone())).await
}

async fn deleted(t: Trial<'_>) -> Outcome {
    let volume_id = t.volume().await?.volume_id;
    let request = v1::DeleteVolumeRequest { volume_id: volume_id.clone(), ..Default::default() };
    for answer in t.burst(vec![request.clone(); COUNT]).await {
        note_aborted(t, &answer, &[&volume_id]);
        answer.is(EITHER)?;
    }
    t.patient(request, &[Code::Aborted]).await.ok().map(drop)
}

async fn others(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let requests: Vec<_> = (0..COUNT).map(|_| t.new_volume()).collect();
    let mut ids = BTreeSet::new();
    for answer in t.burst(requests).await {
        ids.extend(answer.ok()?.volume.as_ref().map(|it| it.volume_id.clone()));
    }
    if ids.len() == COUNT { Ok(()) } else { Err(Stop::Fail("eight names have fewer than eight ids".to_owned(), None)) }
}

async fn cut(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let request = t.new_snapshot(&t.volume().await?.volume_id);
    let name = request.name.clone();
    one_id(t, request, &name, |it| it.snapshot.as_ref().map(|it| it.snapshot_id.clone())).await
}

async fn grouped(t: Trial<'_>) -> Outcome {
    super::ask::needs_groups(t)?;
    let request = t.new_group(&[]);
    let name = request.name.clone();
    let id = |it: &g::CreateVolumeGroupResponse| it.volume_group.as_ref().map(|it| it.volume_group_id.clone());
    one_id(t, request, &name, id).await
}
