//! Which blocks of a snapshot hold data, and which differ from an earlier one: the requests.
//!
//! The answers are streams, whose rules span all their messages and stand in `stream`; what one
//! message shows by itself is checked by a stream of that message alone.

use super::rules::{Breach, Verdict, size, text};
use super::{Abilities, BadAnswer, BlockPage, Check, Invalid, MetadataStream};
use drivebay_proto::pb::csi::v1::{
    GetMetadataAllocatedRequest, GetMetadataAllocatedResponse, GetMetadataDeltaRequest, GetMetadataDeltaResponse,
};

/// A stream starts within the volume; before it is out of range, which has a code of its own (CSI,
/// `GetMetadataAllocated`, error `OUT_OF_RANGE`).
fn start(offset: i64) -> Verdict {
    if offset < 0 {
        return Err(Breach::range("starting_offset", "must not be negative"));
    }
    Ok(())
}

impl Check for GetMetadataAllocatedRequest {
    type Answer = GetMetadataAllocatedResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("snapshot_id", &self.snapshot_id)?;
        start(self.starting_offset)?;
        size::not_negative("max_results", self.max_results)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        let mut stream = MetadataStream::new(self.starting_offset, self.max_results);
        stream.page(BlockPage::from(answer), None)
    }
}

impl Check for GetMetadataDeltaRequest {
    type Answer = GetMetadataDeltaResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("base_snapshot_id", &self.base_snapshot_id)?;
        text::id("target_snapshot_id", &self.target_snapshot_id)?;
        start(self.starting_offset)?;
        size::not_negative("max_results", self.max_results)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        let mut stream = MetadataStream::new(self.starting_offset, self.max_results);
        stream.page(BlockPage::from(answer), None)
    }
}
