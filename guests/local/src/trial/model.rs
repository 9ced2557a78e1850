//! Any sequence of requests, with deaths in between, against a model of what must be there.

use std::collections::BTreeMap;

use drivebay_sdk::types::VolumeContentSource;
use proptest::prelude::*;

use super::World;
use super::crash::assert_clean;
use super::requests::*;

#[derive(Clone, Debug)]
enum Step {
    Create { name: u8, directory: bool },
    Clone { name: u8, source: u8 },
    Delete { name: u8 },
    Snapshot { name: u8, source: u8 },
    DeleteSnapshot { name: u8 },
    Stage { name: u8 },
    Unstage { name: u8 },
    LoseState,
}

fn step() -> impl Strategy<Value = (Step, Option<u32>)> {
    let name = 0_u8..4;
    let step = prop_oneof![
        4 => (name.clone(), any::<bool>()).prop_map(|(name, directory)| Step::Create { name, directory }),
        2 => (4_u8..6, name.clone()).prop_map(|(name, source)| Step::Clone { name, source }),
        3 => (0_u8..6).prop_map(|name| Step::Delete { name }),
        3 => (name.clone(), name.clone()).prop_map(|(name, source)| Step::Snapshot { name, source }),
        2 => name.clone().prop_map(|name| Step::DeleteSnapshot { name }),
        2 => name.clone().prop_map(|name| Step::Stage { name }),
        2 => name.prop_map(|name| Step::Unstage { name }),
        1 => Just(Step::LoseState),
    ];
    (step, proptest::option::weighted(0.4, 0_u32..40))
}

/// What clients were told: names and ids of what exists.
#[derive(Default)]
struct Told {
    volumes: BTreeMap<u8, String>,
    snapshots: BTreeMap<u8, String>,
}

/// Does a step as a client does: repeats it until it is answered for good.
fn take(world: &World, told: &mut Told, step: &Step) {
    match step {
        Step::Create { name, directory } => {
            let name_of = format!("volume-{name}");
            let request = if *directory { create_directory(&name_of) } else { create(&name_of) };
            if let Ok(volume) = world.create(&request) {
                let id = told.volumes.entry(*name).or_insert_with(|| volume.volume_id.clone());
                assert_eq!(*id, volume.volume_id, "one name, two volumes");
            }
        }
        Step::Clone { name, source } => {
            let Some(source) = told.volumes.get(source) else {
                return;
            };
            let request = create_from(&format!("volume-{name}"), VolumeContentSource::Volume(source.clone()));
            if let Ok(volume) = world.create(&request) {
                told.volumes.entry(*name).or_insert(volume.volume_id);
            }
        }
        Step::Delete { name } => {
            let Some(id) = told.volumes.get(name) else {
                return;
            };
            if world.delete(id).is_ok() {
                told.volumes.remove(name);
            }
        }
        Step::Snapshot { name, source } => {
            let Some(source) = told.volumes.get(source) else {
                return;
            };
            if let Ok(snapshot) = world.snapshot(source, &format!("snapshot-{name}")) {
                told.snapshots.entry(*name).or_insert(snapshot.snapshot_id);
            }
        }
        Step::DeleteSnapshot { name } => {
            let Some(id) = told.snapshots.get(name) else {
                return;
            };
            if world.delete_snapshot(id).is_ok() {
                told.snapshots.remove(name);
            }
        }
        Step::Stage { name } => {
            let Some(id) = told.volumes.get(name) else {
                return;
            };
            if world.stage(id, mount()).is_ok() {
                world.devices.acknowledge();
            }
        }
        Step::Unstage { name } => {
            let Some(id) = told.volumes.get(name) else {
                return;
            };
            let _ = world.unstage(id);
        }
        Step::LoseState => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_clients_were_told_is_there_and_nothing_else(steps in prop::collection::vec(step(), 1..20)) {
        let world = World::new();
        world.volumes();
        let mut told = Told::default();
        for (step, death) in steps {
            if let Some(after) = death {
                world.die_after(after);
            }
            take(&world, &mut told, &step);
            if world.is_dead() || matches!(step, Step::LoseState) {
                world.restart();
                if matches!(step, Step::LoseState) {
                    world.state.borrow_mut().clear();
                }
                world.recover().unwrap();
                take(&world, &mut told, &step);
            }
            world.revive();
            let mut listed: Vec<String> = world.volumes().into_iter().map(|volume| volume.volume_id).collect();
            let mut expected: Vec<String> = told.volumes.values().cloned().collect();
            listed.sort();
            expected.sort();
            prop_assert_eq!(listed, expected);
            let listed = world.snapshots().len();
            prop_assert_eq!(listed, told.snapshots.len());
        }
        assert_clean(&world, "at the end");
    }
}
