//! Taking in a transfer: each segment into an image beside the present one, its checksum compared.
//!
//! Nothing that clients see changes here. What does not match is refused with the name of the file,
//! and the peer begins anew with another cut.

use drivebay_sdk::files::{CopyJob, Job, JobState};
use drivebay_sdk::{Error, Result};
use local_pool::record::FORMAT;
use local_pool::{Progress, Sharing, ids, refusal};

use crate::record::{Mark, ReplicationRecord, Sending};
use crate::send::{LOOK, Moved};
use crate::wire::{ManifestText, MemberText, Received, RoleText, SegmentText, extents_of, segment_name};
use crate::{Replication, envelope};

/// How long the next segment is waited for within a step, in looks of 20 ms.
const LOOKS: u32 = 25;

/// What became of one segment.
enum Taken {
    Segment(String),
    /// It is not there yet.
    NotYet,
    /// A job is under way.
    Waits,
    /// It is not what it should be, and why.
    Wrong(String),
}

impl Replication<'_> {
    /// Takes in what there is of the transfer that the peer offers.
    pub(crate) fn receive(&self, record: &ReplicationRecord, peer: &RoleText, offer: &Sending) -> Result<Moved> {
        let mut received = self.begin_receiving(record, offer)?;
        if received.whole.is_some() || received.refused.is_some() {
            return Ok(Moved::All);
        }
        let mut looks = LOOKS;
        while !self.pool.is_out_of_time() {
            match self.take_segment(record, peer, &received)? {
                Taken::Segment(digest) => {
                    received.segments.push(digest);
                    self.write_received(record, &received)?;
                    looks = LOOKS;
                }
                Taken::Waits => return Ok(Moved::Waits),
                Taken::Wrong(why) => return self.refuse(record, received, why),
                Taken::NotYet => match self.check_manifest(record, &received)? {
                    Some(Ok(members)) => return self.complete(record, received, members),
                    Some(Err(why)) => return self.refuse(record, received, why),
                    None if looks == 0 => return Ok(Moved::Waits),
                    None => {
                        looks -= 1;
                        self.host.pause(std::time::Duration::from_millis(20));
                    }
                },
            }
        }
        Ok(Moved::More)
    }

    /// What has come in of the present transfer; none: nothing is under way.
    pub(crate) fn received(&self, record: &ReplicationRecord) -> Result<Option<Received>> {
        let path = self.replication_file(&record.uid, "receiving.json");
        Ok(self.pool.read_record::<Received>(&path)?.and_then(std::result::Result::ok))
    }

    fn write_received(&self, record: &ReplicationRecord, received: &Received) -> Result<()> {
        self.pool.note(&self.replication_file(&record.uid, "receiving.json"), received)
    }

    fn begin_receiving(&self, record: &ReplicationRecord, offer: &Sending) -> Result<Received> {
        if let Some(received) = self.received(record)?.filter(|received| received.sending == *offer) {
            return Ok(received);
        }
        let received =
            Received { format: FORMAT, sending: offer.clone(), segments: Vec::new(), whole: None, refused: None };
        let folder = self.cut_folder(&record.uid, offer.mark);
        if self.pool.remove_tree(&folder, local_pool::disk::Type::Directory)? == Progress::UnderWay {
            return Err(refusal::ask_again("clearing", &record.uid));
        }
        self.disk.make_directory(&folder).map_err(|error| refusal::of_disk("make", &folder, &error))?;
        self.write_received(record, &received)?;
        Ok(received)
    }

    fn refuse(&self, record: &ReplicationRecord, mut received: Received, why: String) -> Result<Moved> {
        self.host.warn("replication", &format!("a transfer of {} is refused: {why}", record.what()));
        received.refused = Some(why);
        self.write_received(record, &received)?;
        Ok(Moved::All)
    }

    fn complete(&self, record: &ReplicationRecord, mut received: Received, members: Vec<MemberText>) -> Result<Moved> {
        // Members that did not change need an image of their own where the present one is not at
        // the base of the transfer.
        if received.sending.base.is_none() || received.sending.base != record.image {
            for text in &members {
                let Some(here) = record.here_of(&text.here) else {
                    return self.refuse(record, received, format!("{} is no member", text.here));
                };
                if self.prepare_staging(record, &received.sending, &here, text.bytes)? == Progress::UnderWay {
                    return Ok(Moved::Waits);
                }
            }
        }
        received.whole = Some(members);
        self.pool.replace(&self.replication_file(&record.uid, "receiving.json"), &received)?;
        Ok(Moved::All)
    }

    fn take_segment(&self, record: &ReplicationRecord, peer: &RoleText, received: &Received) -> Result<Taken> {
        let offer = &received.sending;
        let number = u32::try_from(received.segments.len()).unwrap_or(u32::MAX).saturating_add(1);
        let folder = self.offered_folder(record, offer.mark)?;
        let path = format!("{folder}/{}.json", segment_name(number));
        let Some(bytes) = self.read_link_bytes(&path)? else {
            return Ok(Taken::NotYet);
        };
        let segment = match envelope::open::<SegmentText>(&bytes) {
            Ok(segment) => segment,
            Err(why) => return Ok(Taken::Wrong(format!("{path}: {why}"))),
        };
        let told = peer.members.iter().find(|member| member.here == segment.member);
        let (Some(here), Some(told)) = (record.here_of(&segment.member), told) else {
            return Ok(Taken::Wrong(format!("{path}: {:?} is no member", segment.member)));
        };
        let ours = segment.uid == record.uid && segment.mark == offer.mark && segment.number == number;
        let Some(ranges) = extents_of(&segment.ranges, told.bytes).filter(|ranges| ours && !ranges.is_empty()) else {
            return Ok(Taken::Wrong(format!("{path}: it does not belong here")));
        };
        if self.prepare_staging(record, offer, &here, told.bytes)? == Progress::UnderWay {
            return Ok(Taken::Waits);
        }
        let data = format!("{folder}/{}.data", segment_name(number));
        let target = self.cut_file(record, offer.mark, &here);
        let job = Job::Copy(CopyJob { source: data.clone(), target, ranges });
        let key = format!("receive {} {} {number}", record.uid, offer.mark);
        let result = match self.host.run_job(&key, &job, self.pool.patience().min(LOOK)) {
            Ok(JobState::Done(result)) => result,
            Ok(JobState::Running(_)) => return Ok(Taken::Waits),
            // What is missing, too short or unreadable at the other end is the other end's to mend.
            Ok(JobState::Failed(error)) | Err(error) if is_theirs(&error) => {
                return Ok(Taken::Wrong(format!("{data}: {}", error.message)));
            }
            Ok(JobState::Failed(error)) | Err(error) => return Err(refusal::of_host(error)),
        };
        self.host.cancel_job(&key).map_err(refusal::of_host)?;
        if result.checksum != segment.checksum {
            return Ok(Taken::Wrong(format!("{data}: its checksum is wrong")));
        }
        Ok(Taken::Segment(envelope::digest(&bytes)))
    }

    /// Whether the transfer is closed, and what its members are then, or why it is unusable.
    fn check_manifest(
        &self,
        record: &ReplicationRecord,
        received: &Received,
    ) -> Result<Option<std::result::Result<Vec<MemberText>, String>>> {
        let path = format!("{}/manifest.json", self.offered_folder(record, received.sending.mark)?);
        let manifest = match self.read_link::<ManifestText>(&path)? {
            None => return Ok(None),
            Some(Err(why)) => return Ok(Some(Err(format!("{path}: {why}")))),
            Some(Ok(manifest)) => manifest,
        };
        if manifest.segments.len() > received.segments.len() {
            // The segments are written before it, so one has gone.
            let missing = u32::try_from(received.segments.len()).unwrap_or(u32::MAX).saturating_add(1);
            let folder = self.offered_folder(record, received.sending.mark)?;
            let name = segment_name(missing);
            let there = self.read_link_bytes(&format!("{folder}/{name}.json"))?.is_some();
            return Ok((!there).then(|| Err(format!("{folder}/{name}.json: it is missing"))));
        }
        let complete = record.members.iter().all(|pair| manifest.members.iter().any(|text| text.here == pair.there));
        let ours = manifest.uid == record.uid && manifest.sending == received.sending;
        if !ours || !complete || manifest.segments != received.segments {
            return Ok(Some(Err(format!("{path}: it does not belong to the segments beside it"))));
        }
        Ok(Some(Ok(manifest.members)))
    }

    fn offered_folder(&self, record: &ReplicationRecord, mark: Mark) -> Result<String> {
        let site = record.peer.clone().unwrap_or_default();
        if !ids::is_well_formed(&site) {
            return Err(Error::unavailable("the other site is not known yet"));
        }
        self.transfer_folder(&site, &record.uid, mark)
    }

    /// Makes the image that a member's ranges go into: a copy of the base, or empty.
    fn prepare_staging(&self, record: &ReplicationRecord, offer: &Sending, here: &str, bytes: u64) -> Result<Progress> {
        let staging = self.cut_file(record, offer.mark, here);
        if !self.pool.has_file(&staging)?
            && self.fill_staging(record, offer, here, &staging, bytes)? == Progress::UnderWay
        {
            return Ok(Progress::UnderWay);
        }
        let status = self.disk.status(&staging).map_err(|error| refusal::of_disk("find", &staging, &error))?;
        if status.is_some_and(|status| status.length < bytes) {
            self.disk.set_length(&staging, bytes).map_err(|error| refusal::of_disk("lengthen", &staging, &error))?;
        }
        Ok(Progress::Done)
    }

    fn fill_staging(
        &self,
        record: &ReplicationRecord,
        offer: &Sending,
        here: &str,
        staging: &str,
        bytes: u64,
    ) -> Result<Progress> {
        let Some(base) = offer.base else {
            self.disk.make_file(staging, bytes).map_err(|error| refusal::of_disk("make", staging, &error))?;
            return Ok(Progress::Done);
        };
        let source = if record.image == Some(base) {
            self.member_image(record.kind, here)
        } else {
            self.cut_file(record, base, here)
        };
        let key = format!("stage {} {} {here}", record.uid, offer.mark);
        let sharing = self.pool.sharing()?;
        let progress = self.contents.copy_image(source, staging.to_owned(), &key, sharing)?;
        if progress == Progress::Done && sharing == Sharing::Impossible {
            self.host.cancel_job(&key).map_err(refusal::of_host)?;
        }
        Ok(progress)
    }
}

fn is_theirs(error: &drivebay_sdk::files::Error) -> bool {
    use drivebay_sdk::files::ErrorCode;
    matches!(error.code, ErrorCode::NotFound | ErrorCode::Invalid)
}
