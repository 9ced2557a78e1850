//! Records of replications in the pool, and the agenda in the state.
//!
//! A file beside each source points to its replication. The agenda is an index of what is due next, so that `list-due`
//! reads the state only.

use drivebay_sdk::background::ObjectKind;
use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, ErrorCode, Result};
use local_pool::disk::Type;
use local_pool::record::{self, FORMAT, Moment};
use local_pool::{Progress, Section, refusal};
use serde::{Deserialize, Serialize};

use crate::Replication;
use crate::record::{Kind, Mark, ReplicationRecord, Role};

/// What the keys of the agenda begin with.
pub(super) const AGENDA: &str = "replication/";

/// The key that holds the pool's id while the agenda is complete.
const COMPLETE: &str = "replications";

/// Entries of the state read at a time.
const CHUNK: usize = 1_000;

/// Beside a source: its replication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PointerRecord {
    format: u32,
    /// Empty: it is a copy that never became whole.
    uid: String,
}

/// What stands beside a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// Nothing: it is not replicated by itself.
    Nowhere,
    /// It was a copy that never became whole, and is no longer replicated.
    Torso,
    /// The uid of a replication.
    To(String),
}

/// Which step comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    /// Short, under the source's lock: looks and decides.
    Tend,
    /// Before a cut: puts on disk what was written, so that the cut itself takes no time.
    Flush,
    /// As `Tend`, and cuts.
    Cut,
    /// Long, on files that nobody else uses.
    Move,
}

/// An entry of the agenda.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Due {
    format: u32,
    pub(super) uid: String,
    pub(super) step: Step,
    pub(super) at: Moment,
    /// What `tend` locks.
    pub(super) objects: Vec<(Kind, String)>,
    /// The count of the peer's ringing that has been looked at.
    pub(super) seen: u64,
}

impl Replication<'_> {
    /// A file of a replication in the pool.
    pub(crate) fn replication_file(&self, uid: &str, name: &str) -> String {
        self.pool.file(Section::Replications, uid, name)
    }

    /// The folder of the images of a cut, or of a transfer that comes in.
    pub(crate) fn cut_folder(&self, uid: &str, mark: Mark) -> String {
        self.replication_file(uid, &format!("cut-{mark}"))
    }

    /// A replication, if it exists. `failed-precondition`: its record is unusable.
    pub(crate) fn find_replication(&self, uid: &str) -> Result<Option<ReplicationRecord>> {
        let path = self.pool.record_file(Section::Replications, uid);
        match self.pool.read_record(&path)? {
            None => Ok(None),
            Some(Ok(record)) => Ok(Some(record)),
            Some(Err(why)) => Err(Error::failed_precondition(format!("{path}: {why}"))),
        }
    }

    /// The replication of a source; none: it is not replicated.
    pub(crate) fn of(&self, section: Section, id: &str) -> Result<Option<ReplicationRecord>> {
        match self.pointer(section, id)? {
            Pointer::To(uid) => self.pointed(&uid, id),
            Pointer::Nowhere | Pointer::Torso => Ok(None),
        }
    }

    /// The replication that a pointer beside a source names, if it still is that source's.
    pub(crate) fn pointed(&self, uid: &str, id: &str) -> Result<Option<ReplicationRecord>> {
        Ok(self.find_replication(uid)?.filter(|record| record.role != Role::Disabled && record.source == id))
    }

    /// Whether a source is replicated.
    pub fn is_replicated(&self, section: Section, id: &str) -> Result<bool> {
        Ok(self.of(section, id)?.is_some())
    }

    /// Refuses what is done to volumes that are not replicated only.
    pub fn check_not_replicated(&self, volume: &str) -> Result<()> {
        if self.is_replicated(Section::Volumes, volume)? {
            let message = format!("volume {volume} is replicated; disable that first");
            return Err(refusal::in_use(message));
        }
        Ok(())
    }

    /// What stands beside a source.
    pub(crate) fn pointer(&self, section: Section, id: &str) -> Result<Pointer> {
        if !local_pool::ids::is_well_formed(id) {
            return Ok(Pointer::Nowhere);
        }
        let path = self.pool.file(section, id, "replication.json");
        match self.pool.read_record::<PointerRecord>(&path)? {
            None => Ok(Pointer::Nowhere),
            Some(Ok(pointer)) if pointer.uid.is_empty() => Ok(Pointer::Torso),
            Some(Ok(pointer)) => Ok(Pointer::To(pointer.uid)),
            Some(Err(why)) => Err(Error::failed_precondition(format!("{path}: {why}"))),
        }
    }

    /// Whether an object is a copy that never became whole and is no longer replicated.
    pub(crate) fn is_torso(&self, section: Section, id: &str) -> Result<bool> {
        Ok(self.pointer(section, id)? == Pointer::Torso)
    }

    /// Says beside a source which replication is its own; none: it is a copy that never became whole.
    pub(crate) fn point(&self, section: Section, id: &str, uid: Option<&str>) -> Result<()> {
        let pointer = PointerRecord { format: FORMAT, uid: uid.unwrap_or_default().to_owned() };
        self.pool.make_directories(&self.pool.directory(section, id))?;
        self.pool.replace(&self.pool.file(section, id, "replication.json"), &pointer)
    }

    /// Takes that back.
    pub(crate) fn unpoint(&self, section: Section, id: &str) -> Result<()> {
        let path = self.pool.file(section, id, "replication.json");
        if self.pool.has_file(&path)? {
            self.pool.remove_file(&path)?;
            self.pool.sync_directory_of(&path)?;
        }
        Ok(())
    }

    /// Makes a record what it says; durable when it returns.
    pub(crate) fn save(&self, record: &ReplicationRecord) -> Result<()> {
        self.pool.replace(&self.pool.record_file(Section::Replications, &record.uid), record)
    }

    /// Removes all that is left of a replication.
    pub(crate) fn forget_replication(&self, uid: &str) -> Result<()> {
        self.lifecycle.erase(Section::Replications, uid)?;
        self.host.commit(&Commit::new().delete(agenda_key(uid)))
    }

    /// Removes the cuts of a replication that are not among these.
    pub(crate) fn sweep_cuts(&self, uid: &str, kept: &[Mark]) -> Result<Progress> {
        let folder = self.pool.directory(Section::Replications, uid);
        let kept: Vec<String> = kept.iter().map(|mark| format!("cut-{mark}")).collect();
        for entry in self.pool.entries_of(&folder)? {
            if entry.name.starts_with("cut-")
                && !kept.contains(&entry.name)
                && self.pool.remove_tree(&format!("{folder}/{}", entry.name), Type::Directory)? == Progress::UnderWay
            {
                return Ok(Progress::UnderWay);
            }
        }
        Ok(Progress::Done)
    }

    /// Writes down when the next step of a replication is due.
    pub(crate) fn put_on_agenda(&self, record: &ReplicationRecord, step: Step, due: Moment, seen: u64) -> Result<()> {
        self.host.commit(&on_agenda(record, step, due, seen)?)
    }

    /// As `put_on_agenda`, unless somebody has changed the entry since it was `known`.
    pub(crate) fn put_back(&self, record: &ReplicationRecord, known: &Due, entry: (Step, Moment, u64)) -> Result<()> {
        let (step, due, seen) = entry;
        let entry = entry_of(record, step, due, seen);
        let key = agenda_key(&record.uid);
        self.commit_if_unchanged(
            &Commit::new().expect(&key, Some(record::encode(known)?)).put(&key, record::encode(&entry)?),
        )
    }

    /// Makes everything due at once that a site has rung for since it was looked at.
    pub(crate) fn hurry_rung(&self, site: &str) -> Result<()> {
        let now = self.host.now();
        for entry in self.agenda()? {
            if entry.at > now && self.rung_by(site, &entry.uid)? != entry.seen {
                let key = agenda_key(&entry.uid);
                let step = if entry.step == Step::Flush { Step::Tend } else { entry.step };
                let hurried = Due { at: now, step, ..entry.clone() };
                let commit = Commit::new().expect(&key, Some(record::encode(&entry)?));
                let commit = commit.put(&key, record::encode(&hurried)?);
                self.commit_if_unchanged(&commit)?;
            }
        }
        Ok(())
    }

    /// Commits, unless an entry is not the expected one any more: the call that has changed it
    /// looks at the news itself.
    fn commit_if_unchanged(&self, commit: &Commit) -> Result<()> {
        match self.host.commit(commit) {
            Err(error) if error.code == ErrorCode::Aborted => Ok(()),
            done => done,
        }
    }

    /// An entry of the agenda; none: it has none.
    pub(crate) fn agenda_of(&self, uid: &str) -> Result<Option<Due>> {
        Ok(self.host.get(&agenda_key(uid))?.and_then(|bytes| record::decode(&bytes).ok()))
    }

    /// The whole agenda.
    pub(crate) fn agenda(&self) -> Result<Vec<Due>> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let entries = self.host.range(AGENDA, after.as_deref(), CHUNK)?;
            all.extend(entries.iter().filter_map(|entry| record::decode::<Due>(&entry.value).ok()));
            match entries.last() {
                Some(last) if entries.len() == CHUNK => after = Some(last.key.clone()),
                _ => return Ok(all),
            }
        }
    }

    /// Makes the agenda anew from the pool, if it is not known to be complete.
    pub(crate) fn restore_agenda(&self) -> Result<()> {
        let pool = self.pool.id()?.to_owned();
        if self.host.get(COMPLETE)?.as_deref() == Some(pool.as_bytes()) {
            return Ok(());
        }
        let now = self.host.now();
        for bucket in self.pool.entries_of(&self.pool.section(Section::Replications))? {
            let folder = format!("{}/{}", self.pool.section(Section::Replications), bucket.name);
            for entry in self.pool.entries_of(&folder)? {
                match self.find_replication(&entry.name) {
                    Ok(Some(record)) => self.put_on_agenda(&record, Step::Tend, now, 0)?,
                    // Only its folder is there: nobody was told of it, or it is being made just now.
                    Ok(None) => drop(self.disk.remove_directory(&format!("{folder}/{}", entry.name))),
                    Err(error) => self.host.warn("replication", &error.message),
                }
            }
        }
        self.host.commit(&Commit::new().put(COMPLETE, pool))
    }

    /// Lets the next background step look at every replication again.
    pub fn recover(&self) -> Result<()> {
        match self.host.get(COMPLETE)? {
            Some(_) => self.host.commit(&Commit::new().delete(COMPLETE)),
            None => Ok(()),
        }
    }
}

fn agenda_key(uid: &str) -> String {
    format!("{AGENDA}{uid}")
}

/// What puts a replication on the agenda.
pub(super) fn on_agenda(record: &ReplicationRecord, step: Step, due: Moment, seen: u64) -> Result<Commit> {
    let entry = entry_of(record, step, due, seen);
    Ok(Commit::new().put(agenda_key(&record.uid), record::encode(&entry)?))
}

fn entry_of(record: &ReplicationRecord, step: Step, due: Moment, seen: u64) -> Due {
    let mut objects = vec![(record.kind, record.source.clone())];
    if record.kind == Kind::Group {
        objects.extend(record.members.iter().map(|pair| (Kind::Volume, pair.here.clone())));
    }
    if record.role == Role::Disabled {
        objects.clear();
    }
    Due { format: FORMAT, uid: record.uid.clone(), step, at: due, objects, seen }
}

/// What the host locks for a source or a member.
pub(super) fn lock_kind(kind: Kind) -> ObjectKind {
    match kind {
        Kind::Volume => ObjectKind::Volume,
        Kind::Group => ObjectKind::VolumeGroup,
        Kind::Snapshot => ObjectKind::Snapshot,
    }
}
