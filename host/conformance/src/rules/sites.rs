//! Replication between two sites: who may be promoted, what a copy is called, failover and failback.
//! It drives both sites over their sockets and compares ids and codes; the data are not on a socket.

use std::collections::BTreeSet;

use tonic::Code;

use super::ask::{AGAIN, Ask, REPLICATION, lift, needs, plain, primary};
use super::replication::{group, needed, resynced};
use super::rules;
use crate::trial::{Outcome, Source, Stop, Trial};
use crate::wire::proto::identity::capability::volume_replication::Type as Replication;
use crate::wire::proto::replication::replication_destination::Type;

rules! {
    "R-21" => r21, "R-22" => r22, "X-133" => failover, "X-134" => failback, "X-135" => destination,
    "X-136" => group_destination, "X-137" => no_destination, "X-138" => kept,
}

fn needs_destination(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let value = Replication::GetReplicationDestinationInfo;
    t.needs_addon(REPLICATION, value, "GET_REPLICATION_DESTINATION_INFO")
}

/// What the source is called at the other site, once that is known.
async fn copy_of(t: Trial<'_>, ask: &Ask) -> Result<String, Stop> {
    let got = t.patient(ask.destination(), AGAIN).await.given()?;
    match got.replication_destination.as_ref().and_then(|it| it.r#type.as_ref()) {
        Some(Type::Volume(it)) => Ok(it.volume_id.clone()),
        _ => Err(Stop::Blocked("the answer names no volume".to_owned(), Some(got.at()))),
    }
}

/// A primary at A and its enabled copy at B.
pub(super) async fn pair(t: Trial<'_>) -> Result<(Ask, Ask), Stop> {
    needs_destination(t)?;
    t.b().here()?;
    let here = primary(t).await?;
    let copy = Ask::of(Source::Volume, &copy_of(t, &here).await?);
    t.b().patient(copy.enable(t.b()), AGAIN).await.given()?;
    Ok((here, copy))
}

async fn r21(t: Trial<'_>) -> Outcome {
    let (_, copy) = pair(t).await?;
    t.b().expect(copy.promote(), &[Code::FailedPrecondition, Code::Aborted, Code::Unavailable]).await
}

async fn r22(t: Trial<'_>) -> Outcome {
    let (_, copy) = pair(t).await?;
    t.b().patient(copy.forced().promote(), AGAIN).await.ok().map(drop)
}

async fn failover(t: Trial<'_>) -> Outcome {
    let (here, copy) = pair(t).await?;
    t.patient(here.demote(), AGAIN).await.ok()?;
    t.b().patient(copy.promote(), AGAIN).await.ok().map(drop)
}

async fn failback(t: Trial<'_>) -> Outcome {
    let (here, copy) = pair(t).await?;
    t.patient(here.demote(), AGAIN).await.given()?;
    t.b().patient(copy.promote(), AGAIN).await.given()?;
    needed(resynced(t, &here).await)?;
    t.b().patient(copy.demote(), AGAIN).await.ok()?;
    t.patient(here.promote(), AGAIN).await.ok().map(drop)
}

async fn destination(t: Trial<'_>) -> Outcome {
    needs_destination(t)?;
    t.b().here()?;
    let here = primary(t).await?;
    let got = t.patient(here.destination(), AGAIN).await.ok()?;
    let found = got.part(|it| it.replication_destination.clone()?.r#type, "replication_destination")?;
    let Type::Volume(copy) = found else {
        return got.check(false, "the destination of a volume is no volume");
    };
    t.b().validate(&copy.volume_id).await.ok().map(drop)
}

async fn group_destination(t: Trial<'_>) -> Outcome {
    needs_destination(t)?;
    t.b().here()?;
    let (ask, members) = group(t).await?;
    lift(t, &ask).await?;
    let got = t.patient(ask.destination(), AGAIN).await.ok()?;
    let found = got.part(|it| it.replication_destination.clone()?.r#type, "replication_destination")?;
    let Type::Volumegroup(copy) = found else {
        return got.check(false, "the destination of a group is no group");
    };
    let named: BTreeSet<_> = copy.volume_ids.keys().collect();
    got.check(named == members.iter().collect(), "volume_ids does not map exactly the group's members")
}

async fn no_destination(t: Trial<'_>) -> Outcome {
    needs_destination(t)?;
    let ask = plain(t).await?;
    t.expect(ask.destination(), &[Code::FailedPrecondition]).await
}

async fn kept(t: Trial<'_>) -> Outcome {
    needs_destination(t)?;
    t.b().here()?;
    let volume = t.volume().await?;
    let here = Ask::of(Source::Volume, &volume.volume_id);
    lift(t, &here).await?;
    let copy = copy_of(t, &here).await?;
    t.patient(here.disable(), AGAIN).await.given()?;
    t.b().patient(Ask::of(Source::Volume, &copy).disable(), AGAIN).await.ok()?;
    t.validate(&volume.volume_id).await.ok()?;
    t.b().validate(&copy).await.ok().map(drop)
}
