//! Which objects go to the new generation first. Pure: it is asked with the objects of a call and told what
//! calls made. Why by object and not by call: all work on a volume must meet the same code, or a
//! difference between the two would look like a broken volume.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use drivebay_admission::{LockSet, ObjectKey, ObjectKind};

/// As many objects are remembered that go elsewhere than their own number says; a canary is short.
const REMEMBERED: usize = 100_000;

/// Where a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// To the generation that serves.
    Active,
    /// To the new one.
    Canary,
}

/// Which objects are served by which generation.
#[derive(Debug)]
pub(super) struct Split {
    percent: u8,
    follow: HashMap<ObjectKey, Route>,
}

impl Split {
    /// So many of a hundred root objects go to the new one.
    pub(super) fn new(percent: u8) -> Self {
        Self { percent: percent.min(100), follow: HashMap::new() }
    }

    /// The side of a call that is about these objects. Calls about none (lists, capacity) stay where they were.
    pub(super) fn side(&mut self, about: &LockSet) -> Route {
        let Some(root) = root(about) else { return Route::Active };
        let side = self.of(root);
        if leads(root.kind) {
            self.follows(about, side);
        }
        side
    }

    /// What a call made, or found out to belong to its objects, goes where the call went.
    pub(super) fn follows(&mut self, objects: &LockSet, side: Route) {
        for (object, _) in objects.iter() {
            if self.of(object) == side {
                continue;
            }
            if self.follow.len() < REMEMBERED || self.follow.contains_key(object) {
                self.follow.insert(object.clone(), side);
            }
        }
    }

    fn of(&self, object: &ObjectKey) -> Route {
        self.follow.get(object).copied().unwrap_or_else(|| self.own(object))
    }

    fn own(&self, object: &ObjectKey) -> Route {
        let mut hash = DefaultHasher::new();
        object.hash(&mut hash);
        if hash.finish() % 100 < u64::from(self.percent) { Route::Canary } else { Route::Active }
    }
}

/// The object that decides: a group before its members, a volume before its snapshots, and the name of what is
/// made before what it is made from.
fn root(about: &LockSet) -> Option<&ObjectKey> {
    let objects = about.iter().map(|(object, _)| object);
    objects.filter(|object| rank(object.kind).is_some()).min_by_key(|object| rank(object.kind))
}

/// The place of a kind in that order; none: it decides nothing.
const fn rank(kind: ObjectKind) -> Option<u8> {
    match kind {
        ObjectKind::VolumeGroup => Some(0),
        ObjectKind::VolumeGroupName => Some(1),
        ObjectKind::VolumeName => Some(2),
        ObjectKind::Volume => Some(3),
        ObjectKind::GroupSnapshot => Some(4),
        ObjectKind::Snapshot => Some(5),
        // Their volumes decide.
        ObjectKind::SnapshotName | ObjectKind::GroupSnapshotName | ObjectKind::Fences => None,
    }
}

/// Whether the other objects of the call follow this one: what a new volume is made from does not.
const fn leads(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::VolumeGroup | ObjectKind::VolumeGroupName | ObjectKind::GroupSnapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(id: &str) -> LockSet {
        LockSet::none().exclusive(ObjectKind::Volume, id)
    }

    /// An id whose own number puts it on this side.
    fn on(split: &mut Split, side: Route) -> String {
        (0..10_000).map(|n| format!("v{n}")).find(|id| split.side(&volume(id)) == side).unwrap()
    }

    #[test]
    fn the_share_is_about_what_was_asked_and_stays_the_same() {
        for (percent, least, most) in [(0, 0, 0), (10, 60, 140), (50, 430, 570), (100, 1_000, 1_000)] {
            let mut split = Split::new(percent);
            let mut count = || (0..1_000).filter(|n| split.side(&volume(&format!("pvc-{n}"))) == Route::Canary).count();
            let first = count();
            assert!((least..=most).contains(&first), "{percent}: {first}");
            assert_eq!(count(), first);
        }
    }

    #[test]
    fn what_is_made_follows_its_name_and_snapshots_follow_their_volume() {
        let mut split = Split::new(50);
        for side in [Route::Active, Route::Canary] {
            let named = |id: &str| LockSet::none().exclusive(ObjectKind::VolumeName, id);
            let name = (0..10_000).map(|n| format!("n{n}")).find(|name| split.side(&named(name)) == side).unwrap();
            let other = if side == Route::Active { Route::Canary } else { Route::Active };
            let id = on(&mut split, other);
            split.follows(&volume(&id), side);
            assert_eq!(split.side(&named(&name)), side);
            assert_eq!(split.side(&volume(&id)), side, "the id goes where the name went");
            let snapshot = LockSet::none().exclusive(ObjectKind::SnapshotName, "s").shared(ObjectKind::Volume, &id);
            assert_eq!(split.side(&snapshot), side);
        }
    }

    #[test]
    fn members_follow_their_group_and_sources_do_not_follow_clones() {
        let mut split = Split::new(50);
        let (active, canary) = (on(&mut split, Route::Active), on(&mut split, Route::Canary));
        let group = LockSet::none()
            .exclusive(ObjectKind::VolumeGroup, "g")
            .exclusive(ObjectKind::Volume, &active)
            .exclusive(ObjectKind::Volume, &canary);
        let side = split.side(&group);
        assert_eq!((split.side(&volume(&active)), split.side(&volume(&canary))), (side, side));
        let source = (0..10_000).map(|n| format!("source{n}")).find(|id| split.side(&volume(id)) != side).unwrap();
        let (before, mut seen) = (split.side(&volume(&source)), Vec::new());
        for n in 0..20 {
            let clone =
                LockSet::none().exclusive(ObjectKind::VolumeName, &format!("c{n}")).shared(ObjectKind::Volume, &source);
            seen.push(split.side(&clone));
        }
        assert!(seen.contains(&Route::Active) && seen.contains(&Route::Canary), "{seen:?}");
        assert_eq!(split.side(&volume(&source)), before);
    }

    #[test]
    fn calls_about_nothing_stay() {
        assert_eq!(Split::new(100).side(&LockSet::none()), Route::Active);
        assert_eq!(Split::new(100).side(&LockSet::none().exclusive(ObjectKind::Fences, "")), Route::Active);
    }
}
