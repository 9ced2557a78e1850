//! Making a volume: right, and wrong in the ways that the catalogue names.

use std::sync::Mutex;
use std::time::SystemTime;

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::{CapacityRange, Volume};
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Result};

use crate::mistake::{Mistake, makes};
use crate::records::{Record, beside, id_for, number, space};

/// As large as a volume is when the client does not say: 1 MiB.
const DEFAULT_BYTES: u64 = 1 << 20;
/// How long a lock holds that has a time, in seconds.
const LOCKED: u64 = 60;

/// Where volumes are that one instance remembers.
static MEMORY: Mutex<Vec<Record>> = Mutex::new(Vec::new());

/// Makes a volume, or finds it.
pub(crate) fn create(request: &CreateVolumeRequest) -> Result<Volume> {
    if request.volume_content_source.is_some() {
        return Err(Error::invalid_argument("this backend copies nothing"));
    }
    let bytes = CapacityRange::choose(request.capacity_range, DEFAULT_BYTES, 1)?;
    let key = Record::key(&request.name);
    before(&request.name, bytes)?;
    let made = state::transact(|| {
        if let Some(found) = Record::of_name(&request.name)?.filter(|_| !makes(Mistake::ForgetsNames)) {
            return Ok(((found, true), Commit::new()));
        }
        let record = Record { name: request.name.clone(), id: id_for(&request.name)?, bytes };
        if makes(Mistake::StaticMemory) {
            MEMORY.lock().map_err(|_| Error::internal("the memory is gone"))?.push(record.clone());
            return Ok(((record, false), Commit::new()));
        }
        let commit = if makes(Mistake::ForgetsNames) { Commit::new() } else { Commit::new().expect_absent(&key) };
        Ok(((record.clone(), false), commit_of(commit, &record, request)?))
    });
    let (record, repeated) = match made {
        Err(error) => failed(request, bytes, error)?,
        made => made?,
    };
    after(&request.name)?;
    let fits = request.capacity_range.is_none_or(|range| range.contains(record.bytes));
    if !fits && !makes(Mistake::OtherSize) {
        return Err(Error::already_exists("a volume of this name has another size"));
    }
    Ok(answer(&record, repeated, request))
}

/// What is done before the commit that makes the volume.
fn before(name: &str, bytes: u64) -> Result<()> {
    let (intent, lock) = (format!("intent/{name}"), format!("lock/{name}"));
    if makes(Mistake::FailureForEver) && state::get(&format!("failed/{name}"))?.is_some() {
        return Err(Error::internal("this name has failed before"));
    }
    if makes(Mistake::StumblesOnLeftover) {
        assert!(state::get(&intent)?.is_none(), "an intent is left over");
        Commit::new().put(&intent, "1").run()?;
    }
    if makes(Mistake::IntentLeft) {
        Commit::new().put(format!("intent/{}", drivebay_sdk::new_id()?), name).run()?;
    }
    if makes(Mistake::LockLeft) || makes(Mistake::LockWithTime) {
        let ends = if makes(Mistake::LockWithTime) { now() + LOCKED } else { u64::MAX };
        if number(&lock)? > now() {
            return Err(Error::aborted("another call works on this name"));
        }
        Commit::new().put(&lock, ends.to_string()).run()?;
    }
    if makes(Mistake::SpaceTwice) && Record::of_name(name)?.is_none() {
        space(Commit::new(), |space| space + bytes)?.run()?;
    }
    Ok(())
}

/// What is done after it.
fn after(name: &str) -> Result<()> {
    if makes(Mistake::StumblesOnLeftover) {
        Commit::new().delete(format!("intent/{name}")).run()?;
    }
    if makes(Mistake::IntentLeft) {
        for entry in state::range("intent/") {
            let entry = entry?;
            // Its own alone, as it should: nobody comes back for those of others.
            if entry.value == name.as_bytes() {
                Commit::new().delete(entry.key).run()?;
                break;
            }
        }
    }
    if makes(Mistake::LockLeft) || makes(Mistake::LockWithTime) {
        Commit::new().delete(format!("lock/{name}")).run()?;
    }
    Ok(())
}

/// All that a new volume is, or what mistakes leave for later.
fn commit_of(commit: Commit, record: &Record, request: &CreateVolumeRequest) -> Result<Commit> {
    let (key, by_id) = (Record::key(&record.name), Record::by_id(&record.id));
    let taken = if makes(Mistake::SpaceTwice) { 0 } else { record.bytes };
    let commit = beside(space(commit, |space| space + taken)?, record)?;
    if makes(Mistake::TwoCommits) {
        Commit::new().put(&by_id, record.name.as_str()).run()?;
        return Ok(commit.put(key, record.print()));
    }
    if makes(Mistake::NameBeforeVolume) {
        commit.put(key, record.print()).run()?;
        return Ok(Commit::new().put(by_id, record.name.as_str()));
    }
    let commit = commit.put(key, record.print()).put(by_id, record.name.as_str());
    if makes(Mistake::SecretInState) {
        let secrets: String = request.secrets.iter().map(|(_, secret)| secret.as_str()).collect();
        return Ok(commit.put(format!("login/{}", record.id), secrets));
    }
    Ok(commit)
}

/// What becomes of a commit that was not done, or of which nobody knows.
fn failed(request: &CreateVolumeRequest, bytes: u64, error: Error) -> Result<(Record, bool)> {
    let record = || Ok::<_, Error>(Record { name: request.name.clone(), id: id_for(&request.name)?, bytes });
    if makes(Mistake::IgnoresCommit) {
        return Ok((record()?, false));
    }
    if makes(Mistake::AgainWithoutLooking) {
        let record = record()?;
        commit_of(Commit::new(), &record, request)?.run()?;
        return Ok((record, false));
    }
    if makes(Mistake::FailureForEver) {
        Commit::new().put(format!("failed/{}", request.name), "1").run()?;
    }
    Err(error)
}

fn answer(record: &Record, repeated: bool, request: &CreateVolumeRequest) -> Volume {
    let mut context = Vec::new();
    if makes(Mistake::ContextDiffers) {
        context.push(("answered".to_owned(), drivebay_sdk::new_id().unwrap_or_default()));
    }
    if makes(Mistake::SecretInContext) {
        context.extend(request.secrets.clone());
    }
    let bytes = if repeated && makes(Mistake::SizeForgotten) { 0 } else { record.bytes };
    Volume { volume_context: context, ..Volume::new(record.id.clone(), bytes) }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
