//! What a controller tells of room, of a volume's context and of all its volumes must fit what it does.

use std::collections::BTreeSet;

use tonic::Code;

use super::groups::NO_SUCH;
use super::rules;
use crate::trial::{Outcome, PAGES, Stop, Trial, mount};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::volume_capability::MountVolume;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! {
    "X-141" => room_for_capabilities, "X-142" => room_for_parameters, "X-143" => other_context;
    alone: "X-145" => changing_pages,
}

/// There is no room for what `CreateVolume` refuses to make.
async fn no_room(t: Trial<'_>, volume: v1::CreateVolumeRequest) -> Outcome {
    t.needs(Controller::GetCapacity)?;
    t.needs(Controller::CreateDeleteVolume)?;
    let question = v1::GetCapacityRequest {
        volume_capabilities: volume.volume_capabilities.clone(),
        parameters: volume.parameters.clone(),
        ..Default::default()
    };
    if t.patient(volume, &[Code::Aborted]).await.code() != Code::InvalidArgument {
        return Err(Stop::Skip("CreateVolume does not refuse this with INVALID_ARGUMENT".to_owned()));
    }
    let answer = t.patient(question, &[Code::Aborted]).await;
    if !answer.is_ok() {
        return Ok(());
    }
    let got = answer.ok()?;
    got.check(got.available_capacity == 0, "there is room for volumes that CreateVolume refuses to make")
}

async fn room_for_capabilities(t: Trial<'_>) -> Outcome {
    let odd = MountVolume { fs_type: "conform-no-such-fs".to_owned(), ..Default::default() };
    let volume_capabilities = vec![mount(odd, Mode::SingleNodeWriter)];
    no_room(t, v1::CreateVolumeRequest { volume_capabilities, ..t.new_volume() }).await
}

async fn room_for_parameters(t: Trial<'_>) -> Outcome {
    let mut volume = t.new_volume();
    volume.parameters.insert(NO_SUCH.to_owned(), "1".to_owned());
    no_room(t, volume).await
}

/// Contexts that are not this one: one that says otherwise, and one that says more.
fn others(own: &Words) -> Vec<Words> {
    let mut changed = own.clone();
    let mut longer = own.clone();
    longer.insert("drivebay.conform/no-such-context".to_owned(), "1".to_owned());
    match changed.values_mut().next() {
        Some(value) => value.push_str("-of-another"),
        None => return vec![longer],
    }
    vec![changed, longer]
}

async fn other_context(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let made = t.new_volume();
    let volume = t.volume_of(made.clone()).await?;
    for volume_context in others(&volume.volume_context) {
        let question = v1::ValidateVolumeCapabilitiesRequest {
            volume_id: volume.volume_id.clone(),
            volume_context: volume_context.clone(),
            volume_capabilities: made.volume_capabilities.clone(),
            parameters: made.parameters.clone(),
            ..Default::default()
        };
        let answer = t.patient(question, &[Code::Aborted]).await;
        if !answer.is_ok() {
            continue;
        }
        let got = answer.ok()?;
        let confirmed = got.confirmed.as_ref().is_some_and(|it| it.volume_context == volume_context);
        got.check(!confirmed, "the context is confirmed, and it is not the volume's")?;
    }
    Ok(())
}

/// Reads page after page, and between two of them deletes the volume that was shown last, if it is one of these, or any
/// other of them, and makes a new one.
async fn changing_pages(t: Trial<'_>) -> Outcome {
    t.needs(Controller::ListVolumes)?;
    let mut mine: BTreeSet<_> = t.volumes(4).await?.into_iter().map(|volume| volume.volume_id).collect();
    let mut starting_token = String::new();
    for _ in 0..PAGES {
        let request = v1::ListVolumesRequest { max_entries: 1, starting_token };
        let answer = t.call(request).await;
        if answer.code() == Code::Aborted {
            return Ok(());
        }
        let page = answer.ok()?;
        page.check(page.entries.len() <= 1, "a page has more entries than max_entries")?;
        starting_token = page.next_token.clone();
        if starting_token.is_empty() {
            return Ok(());
        }
        let shown = page.entries.first().and_then(|it| it.volume.as_ref()).map(|it| it.volume_id.clone());
        let gone = shown.filter(|id| mine.contains(id)).or_else(|| mine.first().cloned());
        if let Some(volume_id) = gone {
            mine.remove(&volume_id);
            t.given(v1::DeleteVolumeRequest { volume_id, ..Default::default() }).await?;
            t.volume().await?;
        }
    }
    Err(Stop::Fail("the pages do not end".to_owned(), None))
}
