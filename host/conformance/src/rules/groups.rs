//! Volume groups: making, membership, listing, deleting. Whether a group is consistent is the
//! vendor's matter and not looked at.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use crate::trial::{Answer, Outcome, Stop, Trial};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::identity::capability::volume_group::Type as Groups;
use crate::wire::proto::volumegroup as g;

rules! {
    "G-01" => g01, "G-02" => g02, "G-03" => g03, "G-04" => g04, "G-05" => g05, "G-06" => g06, "G-07" => g07,
    "G-08" => g08, "G-09" => g09, "G-09b" => g09b, "G-09c" => g09c, "G-10" => g10, "G-11" => g11, "G-12" => g12,
    "G-13" => g13, "G-14" => g14, "G-15" => g15, "G-16" => g16, "G-16b" => g16b, "G-18b" => g18b, "G-18c" => g18c,
    "G-21" => g21, "G-22" => g22, "G-25" => g25, "G-25b" => g25b, "E-03" => e03;
    alone: "G-17" => g17, "G-18" => g18,
}

/// The capability's field in the add-ons' identity.
pub(super) const GROUPS: u32 = 5;
/// A parameter that no driver has.
pub(super) const NO_SUCH: &str = "drivebay.conform/no-such-parameter";

pub(super) fn needs(t: Trial<'_>, what: Groups) -> Outcome {
    t.needs_addon(GROUPS, Groups::VolumeGroup, "VOLUME_GROUP")?;
    t.needs_addon(GROUPS, what, what.as_str_name())
}

pub(super) fn modify(group: &str, members: &[&str]) -> g::ModifyVolumeGroupMembershipRequest {
    g::ModifyVolumeGroupMembershipRequest {
        volume_group_id: group.to_owned(),
        volume_ids: members.iter().map(|&id| id.to_owned()).collect(),
        ..Default::default()
    }
}

pub(super) fn delete(group: &str) -> g::DeleteVolumeGroupRequest {
    g::DeleteVolumeGroupRequest { volume_group_id: group.to_owned(), ..Default::default() }
}

fn get(group: &str) -> g::ControllerGetVolumeGroupRequest {
    g::ControllerGetVolumeGroupRequest { volume_group_id: group.to_owned(), ..Default::default() }
}

fn members(group: Option<&g::VolumeGroup>) -> BTreeSet<&str> {
    group.into_iter().flat_map(|group| &group.volumes).map(|volume| volume.volume_id.as_str()).collect()
}

async fn g01(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let unnamed = g::CreateVolumeGroupRequest { name: String::new(), ..t.new_group(&[]) };
    t.expect(unnamed, &[Code::InvalidArgument]).await
}

async fn g02(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let request = t.new_group(&[]);
    let id = |it: &g::CreateVolumeGroupResponse| it.volume_group.as_ref().map(|it| it.volume_group_id.clone());
    let first = t.given(request.clone()).await?;
    let again = t.ok(request).await?;
    again.check(id(&first).is_some() && id(&first) == id(&again), "the same name has another volume_group_id now")
}

async fn g03(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let other = t.with().groups.other_parameters.clone();
    let parameters = other.ok_or_else(|| Stop::Skip("--with gives no groups.other_parameters".to_owned()))?;
    let request = t.new_group(&[]);
    t.given(request.clone()).await?;
    t.expect(g::CreateVolumeGroupRequest { parameters, ..request }, &[Code::AlreadyExists]).await
}

async fn unsupported(t: Trial<'_>) -> Result<Answer<g::CreateVolumeGroupResponse>, Stop> {
    needs(t, Groups::VolumeGroup)?;
    let mut request = t.new_group(&[]);
    request.parameters.insert(NO_SUCH.to_owned(), "1".to_owned());
    Ok(t.call(request).await)
}

async fn g04(t: Trial<'_>) -> Outcome {
    unsupported(t).await?.is(&[Code::Ok, Code::InvalidArgument])
}

async fn e03(t: Trial<'_>) -> Outcome {
    let answer = unsupported(t).await?;
    if answer.code() != Code::InvalidArgument {
        return Err(Stop::Skip("the parameter is not refused with INVALID_ARGUMENT (G-04)".to_owned()));
    }
    if answer.message().contains(NO_SUCH) {
        Ok(())
    } else {
        Err(answer.fail("the message does not name the parameter"))
    }
}

async fn g05(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let got = t.ok(t.new_group(&[])).await?;
    got.check(members(got.volume_group.as_ref()).is_empty(), "a group without volumes has some")
}

/// A group of the first two of three volumes.
async fn two_of_three(t: Trial<'_>) -> Result<(String, Vec<v1::Volume>), Stop> {
    let volumes = t.volumes(3).await?;
    let group = t.group(&volumes.iter().take(2).collect::<Vec<_>>()).await?;
    Ok((group.volume_group_id, volumes))
}

fn ids(volumes: &[v1::Volume]) -> Vec<&str> {
    volumes.iter().map(|volume| volume.volume_id.as_str()).collect()
}

async fn g06(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let (group, volumes) = two_of_three(t).await?;
    let wanted: Vec<_> = ids(&volumes).into_iter().skip(1).rev().collect();
    let got = t.ok(modify(&group, &wanted)).await?;
    let now = members(got.volume_group.as_ref());
    got.check(now == wanted.iter().copied().collect(), "the group's volumes are not those of the request")
}

async fn g07(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let (group, _) = two_of_three(t).await?;
    let got = t.ok(modify(&group, &[])).await?;
    got.check(members(got.volume_group.as_ref()).is_empty(), "the group is not empty")
}

async fn g08(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let (group, volumes) = two_of_three(t).await?;
    let wanted = ids(&volumes);
    for _ in 0..2 {
        let got = t.ok(modify(&group, &wanted)).await?;
        let same = members(got.volume_group.as_ref()) == wanted.iter().copied().collect();
        got.check(same, "the group's volumes are not those of the request")?;
    }
    Ok(())
}

async fn g09(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    t.expect(modify(&t.unknown(), &[]), &[Code::NotFound]).await
}

async fn g09b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    let (group, volumes) = two_of_three(t).await?;
    let unknown = t.unknown();
    let mut wanted = ids(&volumes);
    wanted.push(&unknown);
    t.expect(modify(&group, &wanted), &[Code::NotFound]).await
}

async fn g09c(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ModifyVolumeGroup)?;
    needs(t, Groups::GetVolumeGroup)?;
    let (group, volumes) = two_of_three(t).await?;
    let unknown = t.unknown();
    let all = ids(&volumes);
    let wanted: Vec<_> = all.iter().copied().skip(2).chain([unknown.as_str()]).collect();
    if t.call(modify(&group, &wanted)).await.is_ok() {
        return Err(Stop::Skip("an unknown volume is not refused (G-09b)".to_owned()));
    }
    let got = t.given(get(&group)).await?;
    let before = all.into_iter().take(2).collect();
    got.check(members(got.volume_group.as_ref()) == before, "a refused change has changed the group")
}

async fn g10(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let known = &t.with().groups;
    let limit = known.limit.filter(|limit| *limit <= 20);
    let limit = limit.ok_or_else(|| Stop::Skip("--with gives no groups.limit of at most 20".to_owned()))?;
    let volumes = t.volumes(limit + 1).await?;
    let mut request = t.new_group(&volumes.iter().collect::<Vec<_>>());
    if let Some(parameters) = &known.limit_parameters {
        request.parameters.clone_from(parameters);
    }
    t.expect(request, &[Code::ResourceExhausted]).await
}

async fn g11(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    t.ok(delete(&t.unknown())).await.map(drop)
}

async fn g12(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    if t.addon(GROUPS, Groups::DoNotAllowVgToDeleteVolumes) {
        return Err(Stop::Skip("groups may not delete their volumes".to_owned()));
    }
    let volume = t.volume().await?;
    let group = t.group(&[&volume]).await?;
    t.ok(delete(&group.volume_group_id)).await?;
    t.validate(&volume.volume_id).await.is(&[Code::NotFound])
}

async fn g13(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let volume = t.volume().await?;
    t.group(&[&volume]).await?;
    let volume_id = volume.volume_id.clone();
    let answer = t.call(v1::DeleteVolumeRequest { volume_id, ..Default::default() }).await;
    if answer.is_ok() {
        return Err(answer.fail("a member of a group was deleted"));
    }
    t.validate(&volume.volume_id).await.ok()?;
    if answer.code() == Code::FailedPrecondition {
        return Ok(());
    }
    Err(answer.differs("deleting a member is refused, but not with FAILED_PRECONDITION"))
}

async fn g14(t: Trial<'_>) -> Outcome {
    needs(t, Groups::DoNotAllowVgToDeleteVolumes)?;
    let volume = t.volume().await?;
    let group = t.group(&[&volume]).await?;
    t.expect(delete(&group.volume_group_id), &[Code::FailedPrecondition]).await
}

async fn g15(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let volume = t.volume().await?;
    let group = t.group(&[&volume]).await?;
    t.in_use(&volume).await?;
    t.expect(delete(&group.volume_group_id), &[Code::FailedPrecondition]).await
}

async fn g16(t: Trial<'_>) -> Outcome {
    needs(t, Groups::GetVolumeGroup)?;
    let volumes = t.volumes(2).await?;
    let group = t.group(&volumes.iter().collect::<Vec<_>>()).await?;
    let got = t.ok(get(&group.volume_group_id)).await?;
    let found = got.part(|it| it.volume_group.clone(), "volume_group")?;
    got.check(found.volume_group_id == group.volume_group_id, "the answer is about another group")?;
    let wanted = ids(&volumes).into_iter().collect();
    got.check(members(Some(&found)) == wanted, "the members are not those of CreateVolumeGroup")
}

async fn g16b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::GetVolumeGroup)?;
    t.expect(get(&t.unknown()), &[Code::NotFound]).await
}

/// All groups, in pages of this size.
async fn listed(t: Trial<'_>, size: i32) -> Result<Vec<g::VolumeGroup>, Stop> {
    let mut found = Vec::new();
    let mut token = String::new();
    for _ in 0..crate::trial::PAGES {
        let request =
            g::ListVolumeGroupsRequest { max_entries: size, starting_token: token.clone(), ..Default::default() };
        let page = t.ok(request).await?;
        let fits = size == 0 || page.entries.len() <= usize::try_from(size).unwrap_or_default();
        page.check(fits, "a page has more entries than max_entries")?;
        found.extend(page.entries.iter().filter_map(|entry| entry.volume_group.clone()));
        token.clone_from(&page.next_token);
        if token.is_empty() {
            return Ok(found);
        }
    }
    Err(Stop::Fail("the pages do not end".to_owned(), None))
}

async fn g17(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ListVolumeGroups)?;
    let volumes = t.volumes(2).await?;
    let group = t.group(&volumes.iter().collect::<Vec<_>>()).await?;
    let all = listed(t, 0).await.map_err(|stop| match stop {
        Stop::Fail(why, at) => Stop::Blocked(why, at),
        other => other,
    })?;
    let found = all.iter().find(|it| it.volume_group_id == group.volume_group_id);
    if found.is_some() && members(found) == ids(&volumes).into_iter().collect() {
        return Ok(());
    }
    Err(Stop::Fail("the list does not show the group with its two volumes".to_owned(), None))
}

async fn g18(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ListVolumeGroups)?;
    let mut made = BTreeSet::new();
    for _ in 0..3 {
        made.insert(t.group(&[]).await?.volume_group_id);
    }
    let found: BTreeSet<_> = listed(t, 1).await?.into_iter().map(|group| group.volume_group_id).collect();
    if made.is_subset(&found) {
        Ok(())
    } else {
        Err(Stop::Fail("the pages do not hold all three groups".to_owned(), None))
    }
}

async fn g18b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ListVolumeGroups)?;
    let request = g::ListVolumeGroupsRequest { max_entries: -1, ..Default::default() };
    t.expect(request, &[Code::InvalidArgument]).await
}

async fn g18c(t: Trial<'_>) -> Outcome {
    needs(t, Groups::ListVolumeGroups)?;
    let starting_token = "invalid-token".to_owned();
    t.expect(g::ListVolumeGroupsRequest { starting_token, ..Default::default() }, &[Code::Aborted]).await
}

async fn g21(t: Trial<'_>) -> Outcome {
    needs(t, Groups::LimitVolumeToOneVolumeGroup)?;
    needs(t, Groups::ModifyVolumeGroup)?;
    let volume = t.volume().await?;
    t.group(&[&volume]).await?;
    let second = t.group(&[]).await?;
    t.expect(modify(&second.volume_group_id, &[&volume.volume_id]), &[Code::InvalidArgument]).await
}

async fn g22(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    let volume = t.volume().await?;
    let got = t.given(t.new_group(&[&volume])).await?;
    let group = got.volume_group.clone().unwrap_or_default();
    let found = group.volumes.iter().find(|it| it.volume_id == volume.volume_id);
    let Some(found) = found else {
        return Err(Stop::Blocked("the group's answer does not list its volume (G-16)".to_owned(), Some(got.at())));
    };
    got.check(found.volume_context == volume.volume_context, "volume_context is not that of CreateVolume")
}

/// A request for a volume in a group.
fn member(t: Trial<'_>, group: &str) -> Result<v1::CreateVolumeRequest, Stop> {
    let name = t.with().groups.parameter.clone();
    let name = name.ok_or_else(|| Stop::Skip("--with gives no groups.parameter".to_owned()))?;
    let mut request = t.new_volume();
    request.parameters.extend(Words::from([(name, group.to_owned())]));
    Ok(request)
}

async fn g25(t: Trial<'_>) -> Outcome {
    needs(t, Groups::GetVolumeGroup)?;
    member(t, "")?;
    let group = t.group(&[]).await?.volume_group_id;
    let made = t.ok(member(t, &group)?).await?;
    let id = made.part(|it| it.volume.clone(), "volume")?.volume_id;
    let got = t.given(get(&group)).await?;
    got.check(members(got.volume_group.as_ref()).contains(id.as_str()), "the volume is no member of the group")
}

async fn g25b(t: Trial<'_>) -> Outcome {
    needs(t, Groups::VolumeGroup)?;
    t.expect(member(t, &t.unknown())?, &[Code::NotFound]).await
}
