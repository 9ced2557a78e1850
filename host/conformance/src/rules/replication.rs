//! Replication on one site: which sources are taken, roles, repetition, what is told about a source.
//! What needs a second site is in `sites`.

use tonic::Code;

use super::ask::{AGAIN, Ask, needs, needs_groups, plain, primary, secondary};
use super::rules;
use crate::trial::{Outcome, Source, Stop, Trial};
use crate::wire::proto::replication as r;

rules! {
    "R-01" => r01, "R-02" => r02, "R-03" => r03, "R-07" => r07, "R-08" => r08, "R-09" => r09, "R-10" => r10,
    "R-11" => r11, "R-12" => r12, "R-14" => r14, "R-15" => r15, "R-16" => r16, "R-17" => r17, "R-18" => r18,
    "R-19" => r19, "R-20" => r20, "R-23" => r23, "R-25" => r25, "R-26" => r26, "R-27" => r27, "R-28" => r28,
    "R-28b" => r28b, "R-29" => r29, "R-30" => r30, "R-31" => r31, "R-32" => r32, "R-33" => r33, "R-34" => r34,
    "R-35" => r35, "R-36" => r36, "R-37" => r37, "R-38" => r38, "R-38b" => r38b, "R-39" => r39, "R-40" => r40,
    "R-45" => r45, "R-45b" => r45b, "R-48" => r48;
    alone: "R-04" => r04, "R-05" => r05, "R-06" => r06, "R-06b" => r06b,
}

const GONE: &[Code] = &[Code::NotFound];
const INVALID: &[Code] = &[Code::InvalidArgument];
const REFUSED: &[Code] = &[Code::FailedPrecondition];

async fn r01(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let ask = Ask::of(Source::Volume, &t.unknown());
    t.call(ask.promote()).await.is_not(Code::Unimplemented)?;
    t.call(ask.demote()).await.is_not(Code::Unimplemented)?;
    t.call(ask.resync()).await.is_not(Code::Unimplemented)
}

async fn r02(t: Trial<'_>) -> Outcome {
    needs(t)?;
    t.call(Ask::of(Source::Volume, &t.unknown()).info()).await.is_not(Code::Unimplemented)
}

async fn r03(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    let first = t.call(ask.info()).await;
    let second = t.call(ask.info()).await;
    let changed_by_sync = [Code::Ok, Code::NotFound];
    if first.code() != second.code() && !(changed_by_sync.contains(&first.code()) && second.is_ok()) {
        return Err(second.fail("the same question is answered otherwise the second time"));
    }
    for _ in 0..2 {
        t.ok(ask.promote()).await?;
    }
    for _ in 0..2 {
        t.patient(ask.demote(), AGAIN).await.ok()?;
    }
    for _ in 0..2 {
        t.patient(ask.disable(), AGAIN).await.ok()?;
    }
    Ok(())
}

async fn r04(t: Trial<'_>) -> Outcome {
    needs(t)?;
    Ask::default().six(t, INVALID).await
}

async fn r05(t: Trial<'_>) -> Outcome {
    needs(t)?;
    Ask::of_nothing().six(t, INVALID).await
}

async fn r06(t: Trial<'_>) -> Outcome {
    needs(t)?;
    Ask::of(Source::Volume, "").six(t, INVALID).await
}

async fn r06b(t: Trial<'_>) -> Outcome {
    needs(t)?;
    needs_groups(t)?;
    Ask::of(Source::Group, "").six(t, INVALID).await
}

async fn r07(t: Trial<'_>) -> Outcome {
    needs(t)?;
    Ask::of(Source::Volume, &t.unknown()).five(t, GONE).await
}

async fn r08(t: Trial<'_>) -> Outcome {
    needs(t)?;
    needs_groups(t)?;
    Ask::of(Source::Group, &t.unknown()).five(t, GONE).await
}

async fn r09(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    for answer in t.burst(vec![ask.promote(); 8]).await {
        super::bursts::note_aborted(t, &answer, &[&ask.volume()]);
        answer.is(&[Code::Ok, Code::Aborted])?;
    }
    Ok(())
}

async fn r10(t: Trial<'_>) -> Outcome {
    let mut requests = Vec::new();
    for _ in 0..4 {
        requests.push(primary(t).await?.promote());
    }
    for answer in t.burst(requests).await {
        answer.ok()?;
    }
    Ok(())
}

async fn r11(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    let answers = t.burst(vec![ask.promote(); 8]).await;
    if !answers.iter().any(|answer| answer.code() == Code::Aborted) {
        return Err(Stop::Skip("none of eight calls at once was ABORTED".to_owned()));
    }
    t.patient(ask.promote(), &[Code::Aborted]).await.ok().map(drop)
}

async fn r12(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    let wrong = |call: &str| super::secrets::wrong(t, call);
    let unauthenticated = &[Code::Unauthenticated];
    t.expect(ask.with_secrets(wrong("EnableVolumeReplication")?).enable(t), unauthenticated).await?;
    t.expect(ask.with_secrets(wrong("PromoteVolume")?).promote(), unauthenticated).await?;
    t.expect(ask.with_secrets(wrong("DisableVolumeReplication")?).disable(), unauthenticated).await
}

async fn r14(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let ask = Ask::of(Source::Volume, &t.unknown());
    t.call(ask.enable(t)).await.is_not(Code::Unimplemented)?;
    t.call(ask.disable()).await.is_not(Code::Unimplemented)
}

async fn r15(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.ok(ask.enable(t)).await?;
    t.patient(ask.promote(), AGAIN).await.ok()?;
    t.call(ask.info()).await.is_not(Code::FailedPrecondition)
}

async fn r16(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.given(ask.enable(t)).await?;
    t.ok(ask.enable(t)).await.map(drop)
}

async fn r17(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let other = t.with().replication.other_parameters.clone();
    let other = other.ok_or_else(|| Stop::Skip("--with gives no replication.other_parameters".to_owned()))?;
    let ask = plain(t).await?;
    t.given(ask.enable(t)).await?;
    let request = r::EnableVolumeReplicationRequest { parameters: other, ..ask.enable(t) };
    t.expect(request, &[Code::FailedPrecondition, Code::Ok]).await
}

async fn r18(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.ok(ask.disable()).await.map(drop)
}

async fn r19(t: Trial<'_>) -> Outcome {
    needs(t)?;
    t.expect(Ask::of(Source::Volume, &t.unknown()).disable(), GONE).await
}

async fn r20(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.expect(ask.promote(), REFUSED).await
}

async fn r23(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    t.ok(ask.promote()).await?;
    t.ok(ask.forced().promote()).await.map(drop)
}

async fn r25(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.expect(ask.demote(), REFUSED).await
}

async fn r26(t: Trial<'_>) -> Outcome {
    let ask = secondary(t).await?;
    t.ok(ask.demote()).await.map(drop)
}

async fn r27(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.expect(ask.resync(), REFUSED).await
}

async fn r28(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    t.expect(ask.resync(), REFUSED).await
}

async fn r28b(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    t.expect(ask.forced().resync(), REFUSED).await
}

/// Repeats Resync until it is ready.
pub(super) async fn resynced(t: Trial<'_>, ask: &Ask) -> Outcome {
    let mut pause = crate::trial::Pause::new(t.with().patience);
    loop {
        let got = t.patient(ask.resync(), AGAIN).await.ok()?;
        if got.ready {
            return Ok(());
        }
        got.check(pause.rest().await, "Resync never answers ready=true")?;
    }
}

/// What only prepares a rule blocks it and does not break it.
pub(super) fn needed(outcome: Outcome) -> Outcome {
    outcome.map_err(|stop| match stop {
        Stop::Fail(why, at) => Stop::Blocked(format!("this needs what another rule judges: {why}"), at),
        other => other,
    })
}

async fn r29(t: Trial<'_>) -> Outcome {
    let ask = secondary(t).await?;
    resynced(t, &ask).await
}

async fn r30(t: Trial<'_>) -> Outcome {
    let ask = secondary(t).await?;
    needed(resynced(t, &ask).await)?;
    let again = t.ok(ask.resync()).await?;
    again.check(again.ready, "Resync answers ready=false after it was ready: it began anew")
}

async fn r31(t: Trial<'_>) -> Outcome {
    let ask = plain(t).await?;
    t.expect(ask.info(), REFUSED).await
}

async fn r32(t: Trial<'_>) -> Outcome {
    let ask = secondary(t).await?;
    t.expect(ask.info(), REFUSED).await
}

async fn r33(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    t.expect(ask.info(), &[Code::Ok, Code::NotFound]).await
}

async fn r34(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    let answer = t.patient(ask.info(), &[Code::NotFound, Code::Aborted, Code::Unavailable]).await;
    if answer.code() == Code::NotFound {
        return Err(Stop::Skip("no details were there within the patience".to_owned()));
    }
    let got = answer.given()?;
    got.part(|it| it.last_sync_time, "last_sync_time")?;
    got.check(got.last_sync_bytes >= 0, "last_sync_bytes is negative")?;
    let duration = got.last_sync_duration.unwrap_or_default();
    got.check(duration.seconds >= 0 && duration.nanos >= 0, "last_sync_duration is negative")
}

async fn r35(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let ask = Ask::new(&t.volume().await?.volume_id);
    t.ok(ask.enable(t)).await?;
    t.patient(ask.promote(), AGAIN).await.ok().map(drop)
}

async fn r36(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let id = t.volume().await?.volume_id;
    let (new, old) = (Ask::new(&id), Ask::old(&id));
    t.ok(old.enable(t)).await?;
    t.patient(new.promote(), AGAIN).await.ok()?;
    t.patient(old.disable(), AGAIN).await.ok()?;
    t.expect(new.promote(), REFUSED).await
}

async fn r37(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let old = Ask::old(&t.volume().await?.volume_id);
    t.ok_with_unknown_field(old.enable(t)).await?;
    t.ok_with_unknown_field(old.promote()).await.map(drop)
}

fn needs_ids(t: Trial<'_>) -> Outcome {
    needs(t)?;
    if t.with().replication.ids { Ok(()) } else { Err(Stop::Skip("--with does not set replication.ids".to_owned())) }
}

async fn r38(t: Trial<'_>) -> Outcome {
    needs_ids(t)?;
    let ask = plain(t).await?;
    t.given(ask.named("a").enable(t)).await?;
    t.expect(ask.named("b").promote(), INVALID).await
}

async fn r38b(t: Trial<'_>) -> Outcome {
    needs_ids(t)?;
    let ask = plain(t).await?;
    t.given(ask.named("a").enable(t)).await?;
    t.patient(ask.named("a").promote(), AGAIN).await.ok().map(drop)
}

/// A group of two that can be replicated.
pub(super) async fn group(t: Trial<'_>) -> Result<(Ask, Vec<String>), Stop> {
    needs(t)?;
    needs_groups(t)?;
    let members = t.volumes(2).await?;
    let group = t.group(&members.iter().collect::<Vec<_>>()).await?;
    let ids = members.into_iter().map(|volume| volume.volume_id).collect();
    Ok((Ask::of(Source::Group, &group.volume_group_id), ids))
}

async fn r39(t: Trial<'_>) -> Outcome {
    let (ask, _) = group(t).await?;
    t.ok(ask.enable(t)).await?;
    t.patient(ask.promote(), AGAIN).await.ok()?;
    t.patient(ask.demote(), AGAIN).await.ok()?;
    t.patient(ask.disable(), AGAIN).await.ok().map(drop)
}

async fn snapshot(t: Trial<'_>) -> Result<Ask, Stop> {
    needs(t)?;
    let volume = t.volume().await?;
    let snapshot = t.snapshot(&volume.volume_id).await?;
    Ok(Ask::of(Source::Snapshot, &snapshot.snapshot_id))
}

async fn r40(t: Trial<'_>) -> Outcome {
    let ask = snapshot(t).await?;
    let code = if t.with().replication.snapshot_source { Code::Ok } else { Code::Unimplemented };
    t.expect(ask.enable(t), &[code]).await
}

async fn r45(t: Trial<'_>) -> Outcome {
    let (ask, members) = group(t).await?;
    t.given(ask.enable(t)).await?;
    let member = Ask::of(Source::Volume, members.first().map_or("", String::as_str));
    t.expect(member.enable(t), REFUSED).await
}

async fn r45b(t: Trial<'_>) -> Outcome {
    let ask = primary(t).await?;
    let volume_id = ask.volume();
    t.expect(crate::wire::proto::csi::v1::DeleteVolumeRequest { volume_id, ..Default::default() }, REFUSED).await
}

async fn r48(t: Trial<'_>) -> Outcome {
    needs(t)?;
    if !t.with().replication.snapshot_source {
        return Err(Stop::Skip("--with does not set replication.snapshot_source".to_owned()));
    }
    let ask = snapshot(t).await?;
    t.given(ask.enable(t)).await?;
    t.expect(ask.demote(), REFUSED).await?;
    t.expect(ask.resync(), REFUSED).await
}
