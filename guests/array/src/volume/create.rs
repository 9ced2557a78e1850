//! Making volumes: empty ones, clones, and those restored from snapshots.
//!
//! It owns the order: what has the name, what the source is, then one request that the array itself
//! makes unique by the name.

use drivebay_sdk::Result;
use drivebay_sdk::types::Volume as Told;
use drivebay_sdk::volumes::CreateVolumeRequest;

use super::wish::Wish;
use crate::array::{Answer, Array, Source, Volume};
use crate::backend::Backend;
use crate::refusal::{answered, no_snapshot};

impl Backend {
    /// `volumes.create-volume`.
    pub(crate) fn create_volume(&self, request: &CreateVolumeRequest) -> Result<Told> {
        let array = self.changing(&request.secrets)?;
        let wish = Wish::read(request)?;
        answered(array.create(&wish)).map(|volume| volume.told())
    }
}

impl Array<'_> {
    fn create(&self, wish: &Wish) -> Answer<Volume> {
        let volume = match self.named::<Volume>("volumes", &wish.name)? {
            Some(volume) => volume,
            None => self.create_new(wish)?,
        };
        wish.check_same(&volume)?;
        if volume.state == "ready" {
            return Ok(volume);
        }
        self.await_job(volume.job.as_deref(), "the volume")?;
        let made = self.volume(&volume.id)?;
        match made.state.as_str() {
            "ready" => Ok(made),
            _ => Err(drivebay_sdk::Error::unavailable(format!("volume {} is not ready yet", made.id)).into()),
        }
    }

    fn create_new(&self, wish: &Wish) -> Answer<Volume> {
        let source = wish.source.as_ref().map(|source| self.look_at(source)).transpose()?;
        if let Some(is_encrypted) = source.and_then(|(_, is_encrypted)| is_encrypted) {
            wish.check_source(is_encrypted)?;
        }
        let wanted = wish.sized(source.map(|(bytes, _)| bytes))?;
        let named = || self.named::<Volume>("volumes", &wish.name);
        match self.settle(|array| array.send("POST", "/v1/volumes", Some(&wanted)), named) {
            // Somebody else had the name a moment ago: what it is, decides.
            Err(failure) if failure.is("taken") => named()?.ok_or(failure),
            made => made,
        }
    }

    /// The size of a source, and whether it is encrypted; none: its volume is gone, and the disk itself will tell.
    fn look_at(&self, source: &Source) -> Answer<(u64, Option<bool>)> {
        Ok(match source {
            Source::Volume(id) => {
                let volume = self.volume(id)?;
                (volume.bytes, Some(volume.is_encrypted()))
            }
            Source::Snapshot(id) => {
                let snapshot = self.find_snapshot(id)?.ok_or_else(|| no_snapshot(id))?;
                let volume = self.find_volume(&snapshot.volume)?;
                (snapshot.bytes, volume.map(|volume| volume.is_encrypted()))
            }
        })
    }
}
