//! Two sites with a pool each and a link directory between them, on a clock that tests set.
//!
//! Background work runs when a test says so; an error of a step is kept for the test to look at.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use drivebay_sdk::background::Step;
use drivebay_sdk::replication::{
    DemoteRequest, DisableReplicationRequest, EnableReplicationRequest, GetReplicationRequest, PromoteRequest,
    ReplicationStatus, ResyncRequest, Role,
};
use drivebay_sdk::replication_destination::{GetDestinationRequest, ReplicationTarget};
use drivebay_sdk::types::{CapacityRange, ReplicationSource};
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Result, types::StringMap};
use local_pool::host::Surroundings as _;
use local_pool::ids;

use super::requests::*;
use super::{Pool, World};

/// As many rounds as background work may take until a test calls it a loop without end.
const MOST_ROUNDS: u32 = 500;

/// Two sites.
pub(crate) struct Sites {
    pub(crate) a: Rc<World>,
    pub(crate) b: Rc<World>,
    pub(crate) link: tempfile::TempDir,
    pub(crate) failed: RefCell<Vec<String>>,
    now: Cell<i64>,
}

/// What to do at a source.
pub(crate) fn volume(id: &str) -> ReplicationSource {
    ReplicationSource::Volume(id.to_owned())
}

/// A volume of 1 MiB.
pub(crate) fn small(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        capacity_range: Some(CapacityRange { required_bytes: Some(MIB), limit_bytes: None }),
        ..create(name)
    }
}

impl Sites {
    pub(crate) fn new() -> Rc<Self> {
        let link = tempfile::tempdir().unwrap();
        let site = |id: &str| {
            let world = World::on(&Pool::new(), id);
            world.settings.borrow_mut().push(("link".to_owned(), link.path().to_str().unwrap().to_owned()));
            Rc::new(world)
        };
        let (a, b) = (site("host-a"), site("host-b"));
        let sites = Rc::new(Self { a, b, link, failed: RefCell::default(), now: Cell::new(0) });
        sites.pass(1_800_000_000_000);
        // Different draws, or both pools would have one id.
        sites.b.pool.drawn.set(1_000_000);
        sites
    }

    /// Without shared blocks at either side.
    pub(crate) fn without_sharing() -> Rc<Self> {
        let sites = Self::new();
        sites.a.pool.shares_blocks.set(false);
        sites.b.pool.shares_blocks.set(false);
        sites
    }

    pub(crate) fn pass(&self, milliseconds: i64) {
        self.now.set(self.now.get() + milliseconds);
        for world in [&self.a, &self.b] {
            world.pool.clock.set(Some(self.now.get()));
        }
    }

    /// Does what is due at one site. Returns how many steps.
    pub(crate) fn run(&self, world: &World) -> u32 {
        let mut steps = 0;
        let mut failed: Vec<String> = Vec::new();
        // The watch is always due; it is run once, before the others.
        let _ = world.call(|backend| backend.replication.run_step("watch"));
        for _ in 0..MOST_ROUNDS {
            let now = world.now();
            let Ok(due) = world.look_up(|backend| backend.replication.list_due(now.into())) else {
                return steps;
            };
            let ready: Vec<String> = due
                .works
                .into_iter()
                .filter(|work| work.due <= now.into() && work.id != "watch" && !failed.contains(&work.id))
                .map(|work| work.id)
                .collect();
            if ready.is_empty() {
                return steps;
            }
            for id in ready {
                steps += 1;
                match world.call(|backend| backend.replication.run_step(&id)) {
                    Ok(Step::Done | Step::Later | Step::Again) => {}
                    Err(error) => {
                        self.failed.borrow_mut().push(format!("{id}: {}", error.message));
                        failed.push(id);
                    }
                }
            }
        }
        panic!("the background never rests");
    }

    /// Lets so many seconds pass, with both sites at work.
    pub(crate) fn work(&self, seconds: u32) {
        for _ in 0..seconds * 2 {
            self.run(&self.a);
            self.run(&self.b);
            self.pass(500);
        }
    }

    /// As `work`, with one site alone.
    pub(crate) fn work_alone(&self, world: &World, seconds: u32) {
        for _ in 0..seconds * 2 {
            self.run(world);
            self.pass(500);
        }
    }

    /// A volume at A with a whole copy at B; the ids of both.
    pub(crate) fn replicated(&self, parameters: &[(&str, &str)]) -> (String, String) {
        let id = self.a.create(&small("v")).unwrap().volume_id;
        write(&self.a, &id, 100_000, b"before the first transfer");
        self.a.enable(volume(&id), parameters).unwrap();
        self.work(8);
        let copy = self.a.copy_of(&id).unwrap();
        assert_eq!(contents(&self.a, &id), contents(&self.b, &copy), "{:?}", self.failed.borrow());
        (id, copy)
    }

    /// No two sides write.
    pub(crate) fn assert_one_primary(&self, at_a: &ReplicationSource, at_b: &ReplicationSource, when: &str) {
        let both = [self.a.role(at_a), self.b.role(at_b)];
        assert_ne!(both, [Role::Primary, Role::Primary], "{when}: both sides are primary");
    }

    /// Takes away what the sites share.
    pub(crate) fn lose_link(&self) {
        std::fs::rename(self.link.path().join("sites"), self.link.path().join("lost")).unwrap();
    }

    /// Brings it back as it was.
    pub(crate) fn restore_link(&self) {
        std::fs::rename(self.link.path().join("lost"), self.link.path().join("sites")).unwrap();
    }

    /// All files of a site's folder in the link, by their paths.
    pub(crate) fn files_of(&self, world: &World) -> Vec<String> {
        let site = format!("{}/sites/{}", self.link.path().display(), world.site());
        let mut found = Vec::new();
        let mut left = vec![site];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let text = path.to_str().unwrap().to_owned();
                if path.is_dir() { left.push(text) } else { found.push(text) }
            }
        }
        found.sort();
        found
    }
}

impl World {
    /// The name of the site in the link.
    pub(crate) fn site(&self) -> String {
        self.call(|backend| backend.pool.id().map(str::to_owned)).unwrap()
    }

    pub(crate) fn enable(&self, source: ReplicationSource, parameters: &[(&str, &str)]) -> Result<()> {
        let request = EnableReplicationRequest {
            parameters: pairs(parameters),
            secrets: StringMap::new(),
            replication_id: None,
            replication_source: source,
        };
        self.call(|backend| backend.enable_replication(request))
    }

    pub(crate) fn disable(&self, source: ReplicationSource) -> Result<()> {
        let request = DisableReplicationRequest {
            parameters: StringMap::new(),
            secrets: StringMap::new(),
            replication_id: None,
            replication_source: source,
        };
        self.call(|backend| backend.disable_replication(&request))
    }

    pub(crate) fn promote(&self, source: ReplicationSource, force: bool) -> Result<()> {
        let request = PromoteRequest {
            force,
            parameters: StringMap::new(),
            secrets: StringMap::new(),
            replication_id: None,
            replication_source: source,
        };
        self.call(|backend| backend.promote(&request))
    }

    pub(crate) fn demote(&self, source: ReplicationSource) -> Result<()> {
        let request = DemoteRequest {
            force: false,
            parameters: StringMap::new(),
            secrets: StringMap::new(),
            replication_id: None,
            replication_source: source,
        };
        self.call(|backend| backend.demote(&request))
    }

    pub(crate) fn resync(&self, source: ReplicationSource) -> Result<bool> {
        let request = ResyncRequest {
            force: false,
            parameters: StringMap::new(),
            secrets: StringMap::new(),
            replication_id: None,
            replication_source: source,
        };
        self.call(|backend| backend.resync(&request))
    }

    pub(crate) fn info(&self, source: ReplicationSource) -> Result<ReplicationStatus> {
        let request =
            GetReplicationRequest { secrets: StringMap::new(), replication_id: None, replication_source: source };
        self.call(|backend| backend.get_replication(&request))
    }

    pub(crate) fn role(&self, source: &ReplicationSource) -> Role {
        self.call(|backend| backend.replication.state_of(source)).unwrap().role
    }

    pub(crate) fn destination(&self, source: ReplicationSource) -> Result<ReplicationTarget> {
        let request = GetDestinationRequest { secrets: StringMap::new(), replication_source: source };
        self.call(|backend| backend.get_destination(&request))
    }

    /// The id of a volume's copy.
    pub(crate) fn copy_of(&self, id: &str) -> Result<String> {
        match self.destination(volume(id))? {
            ReplicationTarget::Volume(copy) => Ok(copy),
            ReplicationTarget::VolumeGroup(group) => panic!("{group:?} is no volume"),
        }
    }

    /// How many bytes copy jobs have moved to files whose paths hold this word.
    pub(crate) fn moved_to(&self, word: &str) -> u64 {
        self.jobs.copied.borrow().iter().filter(|(path, _)| path.contains(word)).map(|(_, bytes)| bytes).sum()
    }
}

/// The contents of a volume, which nobody wants to read in a failure.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Contents(Vec<u8>);

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filled: Vec<usize> = (0..self.0.len())
            .step_by(4_096)
            .filter(|at| self.0[*at..].iter().take(4_096).any(|byte| *byte != 0))
            .collect();
        write!(f, "{} bytes, {}, data at {filled:?}", self.0.len(), &ids::digest(&self.0)[..8])
    }
}

impl std::ops::Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The image of a volume.
pub(crate) fn image(world: &World, id: &str) -> String {
    format!("{}/volumes/{}/{id}/image", world.pool.path(), ids::bucket(id))
}

/// The contents of a volume.
pub(crate) fn contents(world: &World, id: &str) -> Contents {
    Contents(fs::read(image(world, id)).unwrap())
}

/// Writes as a workload does.
pub(crate) fn write(world: &World, id: &str, offset: u64, bytes: &[u8]) {
    fs::File::options().write(true).open(image(world, id)).unwrap().write_all_at(bytes, offset).unwrap();
}
