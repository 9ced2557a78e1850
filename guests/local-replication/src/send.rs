//! Sending a cut: its changed ranges, segment by segment, then the manifest.
//!
//! It needs no lock, because cuts never change. The ranges of a segment are recorded before its job starts: a later
//! step with less time would plan another segment, and the job would start over.

use drivebay_sdk::files::{CopyJob, Extent, Job, JobState};
use drivebay_sdk::{Error, Result};
use local_pool::disk::Lasting;
use local_pool::record::FORMAT;
use local_pool::refusal;

use crate::Replication;
use crate::cut::PAGE;
use crate::plan::{Plan, Room};
use crate::record::{ReplicationRecord, Sending};
use crate::wire::{ManifestText, MemberText, Planned, SegmentText, Sent, extents_of, ranges_of, segment_name};

/// How long one look at a job lasts, in milliseconds.
pub(super) const LOOK: u32 = 1_000;

/// How far a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// All of it: the other step has to decide.
    All,
    /// There is more to do at once.
    More,
    /// A job, or the other side, has to get on first.
    Waits,
}

/// One member's image and what it is compared with.
struct Images {
    cut: String,
    length: u64,
    /// The base and its length.
    base: Option<(String, u64)>,
}

impl Replication<'_> {
    /// Sends on. What stops it is written down for those who ask.
    pub(crate) fn send(&self, record: &ReplicationRecord, sending: &Sending) -> Result<Moved> {
        let mut sent = self.sent(record, sending)?;
        if sent.closed {
            return Ok(Moved::All);
        }
        let moved = self.send_on(record, sending, &mut sent);
        let trouble = moved.as_ref().err().map(|error| error.message.clone()).unwrap_or_default();
        if trouble != sent.trouble {
            sent.trouble = trouble;
            self.write_sent(record, &sent)?;
        }
        moved
    }

    /// How far the present transfer has been sent.
    pub(crate) fn sent(&self, record: &ReplicationRecord, sending: &Sending) -> Result<Sent> {
        let path = self.replication_file(&record.uid, "sending.json");
        let known = self.pool.read_record::<Sent>(&path)?.and_then(std::result::Result::ok);
        Ok(known.filter(|sent| sent.mark == sending.mark).unwrap_or_else(|| Sent {
            format: FORMAT,
            mark: sending.mark,
            member: 0,
            offset: 0,
            segments: Vec::new(),
            bytes: 0,
            next: None,
            closed: false,
            trouble: String::new(),
        }))
    }

    fn write_sent(&self, record: &ReplicationRecord, sent: &Sent) -> Result<()> {
        self.pool.note(&self.replication_file(&record.uid, "sending.json"), sent)
    }

    fn send_on(&self, record: &ReplicationRecord, sending: &Sending, sent: &mut Sent) -> Result<Moved> {
        self.join_link()?;
        let own = self.pool.id()?.to_owned();
        let folder = self.transfer_folder(&own, &record.uid, sending.mark)?;
        self.make_link_directories(&folder)?;
        while let Some(pair) = record.members.get(sent.member) {
            if self.pool.is_out_of_time() {
                return Ok(Moved::More);
            }
            let images = self.images_of(record, sending, &pair.here)?;
            let plan = self.planned(record, &images, sent)?;
            if !plan.ranges.is_empty() {
                let segment = new_segment(record, sending, &pair.here, sent)?;
                if self.send_segment(&folder, &images.cut, &plan, segment, sent)? == Moved::Waits {
                    return Ok(Moved::Waits);
                }
            }
            sent.offset = plan.upto;
            sent.next = None;
            if sent.offset >= images.length {
                sent.member += 1;
                sent.offset = 0;
            }
            self.write_sent(record, sent)?;
        }
        self.close_transfer(record, sending, sent, &folder)?;
        Ok(Moved::All)
    }

    fn images_of(&self, record: &ReplicationRecord, sending: &Sending, member: &str) -> Result<Images> {
        let cut = self.cut_file(record, sending.mark, member);
        let base = sending.base.map(|base| self.cut_file(record, base, member));
        let base = base.map(|path| self.length_of(&path).map(|length| (path, length))).transpose()?;
        Ok(Images { length: self.length_of(&cut)?, cut, base })
    }

    fn length_of(&self, path: &str) -> Result<u64> {
        let status = self.disk.status(path).map_err(|error| refusal::of_disk("find", path, &error))?;
        status.map(|status| status.length).ok_or_else(|| Error::unavailable(format!("{path} is missing")))
    }

    /// The segment that is under way, or the next one.
    fn planned(&self, record: &ReplicationRecord, images: &Images, sent: &mut Sent) -> Result<Plan> {
        if let Some(next) = &sent.next
            && let Some(ranges) = extents_of(&next.ranges, images.length)
        {
            return Ok(Plan::known(ranges, next.upto));
        }
        let plan = self.plan_segment(images, sent.offset)?;
        if !plan.ranges.is_empty() {
            sent.next = Some(Planned { ranges: ranges_of(&plan.ranges), upto: plan.upto });
            self.write_sent(record, sent)?;
        }
        Ok(plan)
    }

    fn plan_segment(&self, images: &Images, offset: u64) -> Result<Plan> {
        let mut plan = Plan::from(offset);
        while plan.upto < images.length && !self.pool.is_out_of_time() {
            let (page, next) = self.changed(images, plan.upto)?;
            if plan.take(&page, next, images.length) == Room::Full {
                break;
            }
        }
        Ok(plan)
    }

    /// What differs from the base, or holds data where there is no base.
    fn changed(&self, images: &Images, offset: u64) -> Result<(Vec<Extent>, Option<u64>)> {
        match &images.base {
            Some((base, end)) if offset < *end => {
                let page = self.host.differences(base, &images.cut, offset, PAGE).map_err(refusal::of_host)?;
                let below = |extent: Extent| {
                    let to = extent.offset.saturating_add(extent.length).min(*end);
                    (extent.offset < to).then(|| Extent { offset: extent.offset, length: to - extent.offset })
                };
                let next = page.next_offset.filter(|next| next < end).or((*end < images.length).then_some(*end));
                Ok((page.extents.into_iter().filter_map(below).collect(), next))
            }
            _ => {
                let page = self.host.allocated(&images.cut, offset, PAGE).map_err(refusal::of_host)?;
                Ok((page.extents, page.next_offset))
            }
        }
    }

    fn send_segment(
        &self,
        folder: &str,
        cut: &str,
        plan: &Plan,
        mut segment: SegmentText,
        sent: &mut Sent,
    ) -> Result<Moved> {
        let name = segment_name(segment.number);
        let key = format!("send {} {} {name}", segment.uid, segment.mark);
        let data = format!("{folder}/{name}.data");
        let job = Job::Copy(CopyJob { source: cut.to_owned(), target: data, ranges: plan.ranges.clone() });
        let result = match self.host.run_job(&key, &job, self.pool.patience().min(LOOK)) {
            Ok(JobState::Done(result)) => result,
            Ok(JobState::Running(_)) => return Ok(Moved::Waits),
            Ok(JobState::Failed(error)) | Err(error) => return Err(refusal::of_host(error)),
        };
        segment.ranges = ranges_of(&plan.ranges);
        segment.checksum = result.checksum;
        let written = self.write_link(&format!("{folder}/{name}.json"), &segment, Lasting::Soon)?;
        sent.segments.push(written.digest);
        sent.bytes = sent.bytes.saturating_add(plan.bytes);
        // The other side may begin at once; it can also wait.
        if segment.number == 1 {
            self.ring_peer(&segment.uid)?;
        }
        self.host.cancel_job(&key).map_err(refusal::of_host)?;
        Ok(Moved::More)
    }

    fn close_transfer(
        &self,
        record: &ReplicationRecord,
        sending: &Sending,
        sent: &mut Sent,
        folder: &str,
    ) -> Result<()> {
        let mut members = Vec::new();
        for text in self.member_texts(record)? {
            let bytes = self.length_of(&self.cut_file(record, sending.mark, &text.here))?;
            members.push(MemberText { bytes, ..text });
        }
        let manifest = ManifestText {
            format: FORMAT,
            uid: record.uid.clone(),
            sending: sending.clone(),
            members,
            segments: sent.segments.clone(),
            bytes: sent.bytes,
        };
        self.write_link(&format!("{folder}/manifest.json"), &manifest, Lasting::Now)?;
        sent.closed = true;
        self.write_sent(record, sent)?;
        self.ring_peer(&record.uid)
    }
}

/// The text of the next segment, without its ranges.
fn new_segment(record: &ReplicationRecord, sending: &Sending, member: &str, sent: &Sent) -> Result<SegmentText> {
    let number = u32::try_from(sent.segments.len()).ok().and_then(|count| count.checked_add(1));
    Ok(SegmentText {
        format: FORMAT,
        uid: record.uid.clone(),
        mark: sending.mark,
        number: number.ok_or_else(|| Error::out_of_range("a transfer has too many segments"))?,
        member: member.to_owned(),
        ranges: Vec::new(),
        checksum: String::new(),
    })
}
