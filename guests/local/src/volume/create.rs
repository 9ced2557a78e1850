//! `CreateVolume`: empty volumes, clones, and volumes restored from snapshots.
//!
//! The order is: what exists under the name, what the source is, what both come to, then the work. Nothing is written
//! before the request is known to be possible.

use drivebay_sdk::state::Commit;
use drivebay_sdk::types::Volume;
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Reason, Result};
use local_index::Index;
use local_pool::record::{Content, FORMAT, Kind, Reserve, SnapshotRecord, Source, VolumeRecord};
use local_pool::{Claim, Draft, Place, Progress, Section, refusal};

use super::plan::{self, Offered, Origin, Plan};
use super::wish::Wish;
use crate::backend::Backend;

/// The object that a volume is copied from.
enum Model {
    Snapshot(SnapshotRecord),
    Volume(Box<VolumeRecord>),
}

impl Model {
    fn origin(&self) -> Origin {
        match self {
            Self::Snapshot(snapshot) => snapshot.into(),
            Self::Volume(volume) => volume.as_ref().into(),
        }
    }
}

impl Backend<'_> {
    /// `volumes.create-volume`.
    pub(crate) fn create_volume(&self, request: &CreateVolumeRequest) -> Result<Volume> {
        self.authorise(&request.secrets)?;
        let wish = Wish::read(request)?;
        // A repeated request reads a name and a record: nothing that it depends on stands in the index.
        let record = if let Some(volume) = self.pool.find_volume_named(Section::Volumes, &request.name)? {
            self.same_volume(Section::Volumes, volume, &wish)?
        } else {
            self.index.open()?;
            self.make_volume(Section::Volumes, &request.name, &wish)?
        };
        Ok(record.to_volume())
    }

    /// Makes a volume under a name that stood for nothing a moment ago; the index is open. In the section of ephemeral
    /// volumes the name is the id.
    pub(crate) fn make_volume(&self, section: Section, name: &str, wish: &Wish<'_>) -> Result<VolumeRecord> {
        let model = wish.source.as_ref().map(|source| self.model(source)).transpose()?;
        if !self.settings.satisfies(wish.requirement) {
            return Err(Error::resource_exhausted("this pool cannot be reached from where the volume is wanted"));
        }
        let group = wish.group.map(|group| self.group_to_join(group)).transpose()?.map(|group| group.id);
        let origin = model.as_ref().map(Model::origin);
        let plan = plan::decide(wish, origin.as_ref(), &self.offered(wish, origin.as_ref())?)?;
        self.check_space(&plan, origin.as_ref())?;
        let id = (section == Section::Ephemeral).then_some(name);
        match self.lifecycle.claim(section, name, id)? {
            Claim::Standing(id) => {
                let volume = self.pool.find_volume_in(section, &id)?.ok_or_else(|| refusal::no_volume(&id))?;
                self.same_volume(section, volume, wish)
            }
            Claim::Fresh(draft) => self.build(&draft, &plan, wish, model.as_ref(), group),
            Claim::Resumed(draft) => {
                self.contents.clear_other_kind(Place { section, id: &draft.id }, &plan.content)?;
                self.build(&draft, &plan, wish, model.as_ref(), group)
            }
        }
    }

    /// The volume that has the name already. `already-exists`: it is not what is asked for.
    pub(crate) fn same_volume(&self, section: Section, volume: VolumeRecord, wish: &Wish<'_>) -> Result<VolumeRecord> {
        plan::check_same(&volume, wish, self.settings)?;
        self.check_same_group(&volume, wish)?;
        let index = match section {
            Section::Volumes => self.index.missing_volume(&volume)?,
            _ => None,
        };
        // One commit tells the index of a volume and closes its making: what the index knows as it is was closed.
        if section != Section::Volumes || index.is_some() {
            self.lifecycle.settle_standing(section, &volume.name, index)?;
        }
        Ok(volume)
    }

    /// What it was created in counts, not where it has been moved since.
    fn check_same_group(&self, volume: &VolumeRecord, wish: &Wish<'_>) -> Result<()> {
        let wanted = match wish.group {
            Some(wanted) if volume.created_in.as_deref() != Some(wanted) => Some(self.named_group(wanted)?.id),
            wanted => wanted.map(str::to_owned),
        };
        if wanted == volume.created_in {
            return Ok(());
        }
        let message = format!("volume {} has this name and was not created in that volume group", volume.id);
        Err(Error::already_exists(message).with_reason(Reason::Incompatible))
    }

    fn model(&self, source: &Source) -> Result<Model> {
        match source {
            Source::Snapshot(id) => {
                let snapshot = self.pool.snapshot(id)?;
                self.replication.check_snapshot_usable(&snapshot)?;
                Ok(Model::Snapshot(snapshot))
            }
            Source::Volume(id) => {
                let volume = self.pool.volume(id)?;
                self.replication.check_whole(&volume)?;
                Ok(Model::Volume(Box::new(volume)))
            }
        }
    }

    /// The file systems on offer, asked for only where one has to be made.
    fn offered(&self, wish: &Wish<'_>, origin: Option<&Origin>) -> Result<Vec<Offered>> {
        if origin.is_some() || wish.options.kind == Some(Kind::Directory) {
            return Ok(Vec::new());
        }
        self.file_systems()
    }

    /// The file systems that this host can make, each with the smallest image for it.
    pub(crate) fn file_systems(&self) -> Result<Vec<Offered>> {
        let offered = self.host.file_systems().map_err(refusal::of_host)?;
        Ok(offered.into_iter().map(|offered| (offered.name, offered.minimum_bytes)).collect())
    }

    /// An image may be thin, but one that could never be filled is refused.
    fn check_space(&self, plan: &Plan, origin: Option<&Origin>) -> Result<()> {
        if plan.content == Content::Directory {
            return Ok(());
        }
        let available = self.host.space(&self.settings.pool).map_err(refusal::of_host)?.available_bytes;
        let new = plan.bytes - origin.map_or(0, |origin| origin.bytes.min(plan.bytes));
        if new > available {
            let message = format!("{new} bytes are wanted, the pool has {available} left");
            return Err(Error::resource_exhausted(message).with_reason(Reason::NoSpace));
        }
        Ok(())
    }

    fn build(
        &self,
        draft: &Draft,
        plan: &Plan,
        wish: &Wish<'_>,
        model: Option<&Model>,
        group: Option<String>,
    ) -> Result<VolumeRecord> {
        self.lifecycle.carry_out(draft, || Ok(self.fill(draft, plan, model)?.finished()))?;
        let mut record = self.new_record(draft, plan, wish);
        if let Some(group) = group {
            if let Err(error) = self.join_group(&record.id, &group) {
                self.lifecycle.abandon(draft);
                return Err(error);
            }
            record.group = Some(group.clone());
            record.created_in = Some(group);
        }
        let told = match draft.section {
            Section::Volumes => Index::with_volume(Commit::new(), &record)?,
            // Recovery looks there for volumes that were made and never published.
            Section::Ephemeral => Commit::new().put(local_pool::use_key(&record.id), draft.section.folder()),
            _ => Commit::new(),
        };
        self.lifecycle.publish(draft, &record, told)?;
        Ok(record)
    }

    fn fill(&self, draft: &Draft, plan: &Plan, model: Option<&Model>) -> Result<Progress> {
        let place = Place { section: draft.section, id: &draft.id };
        let progress = match model {
            None => self.contents.make_contents(place, &plan.content, plan.bytes)?,
            Some(Model::Volume(volume)) => self.contents.cut(volume, place)?,
            Some(Model::Snapshot(snapshot)) => {
                let from = Place { section: Section::Snapshots, id: &snapshot.id };
                self.contents.transfer(from, place, &snapshot.content, self.pool.sharing()?)?
            }
        };
        if progress == Progress::UnderWay || plan.content == Content::Directory {
            return Ok(progress);
        }
        self.contents.lengthen(place, plan.bytes)?;
        if plan.reserve == Reserve::Full {
            self.contents.reserve_all(place, plan.bytes)?;
        }
        Ok(Progress::Done)
    }

    fn new_record(&self, draft: &Draft, plan: &Plan, wish: &Wish<'_>) -> VolumeRecord {
        VolumeRecord {
            format: FORMAT,
            id: draft.id.clone(),
            name: draft.name.clone(),
            content: plan.content.clone(),
            capacity_bytes: plan.bytes,
            asked_bytes: plan.asked_bytes,
            file_system_bytes: plan.file_system_bytes,
            reserve: plan.reserve,
            source: wish.source.clone(),
            uuid: plan.uuid,
            topology: self.settings.topology.clone(),
            created: self.host.now(),
            group: None,
            created_in: None,
            attachments: Vec::new(),
        }
    }
}
