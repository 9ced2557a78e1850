//! `wasi:filesystem`: what a component does with granted directories itself. In the place of the engine's, which
//! follows links to a granted directory, waits on threads that all backends share, and reads a whole directory at once.
//!
//! What the kernel has in memory is done at once, on whatever thread the call is. What may wait moves the call to its
//! backend's lane first; the operations themselves are `drivebay_files::descriptors`'.

mod descriptor;
mod held;
pub(super) mod streams;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{FsError, FsResult};

use self::held::Descriptor;
use super::refusals::{self, Tried};
use crate::boundary::Gate;
use crate::context::CallContext;
use crate::fault::Absent;
use crate::lane::{self, Lane};
use crate::limiter::Limiter;
use crate::meter::Meter;
use crate::surroundings::Surroundings;
use drivebay_files::descriptors::{OpError, OpResult, Patience, in_time};
use drivebay_files::{Files, Reach};

/// Bytes that are read or written at once; between two of them a guest can be interrupted.
const CHUNK: usize = 64 * 1024;

/// What its host calls are called at the boundary.
const FILE_SYSTEM: &str = "wasi:filesystem";

/// The interface, for the linker.
struct FileSystem;

impl HasData for FileSystem {
    type Data<'a> = FileSystemView<'a>;
}

/// The parts of a store that its files need.
pub(crate) struct FileSystemView<'a> {
    pub(crate) files: &'a Files,
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) limiter: &'a mut Limiter,
    pub(crate) waiting: &'a Waiting,
    /// Who is told what was refused; none: nobody.
    pub(crate) refusals: Option<(&'a Surroundings, &'a CallContext)>,
}

/// Where an instance may wait, and what counts the time of its work there.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) lane: Arc<Lane>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) gate: Gate,
}

/// Puts ours before the engine's.
///
/// # Errors
/// When the engine will not have it, which is a mistake in this crate.
pub(crate) fn link<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> FileSystemView<'_>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<T, FileSystem>(linker, view)?;
    preopens::add_to_linker::<T, FileSystem>(linker, view)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl preopens::Host for FileSystemView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<types::Descriptor>, String)>> {
        let mut directories = Vec::new();
        for root in self.files.roots() {
            let name = root.guest().to_owned();
            directories.push((translate::outward(&self.table.push(Descriptor::Root(Arc::new(root)))?), name));
        }
        Ok(directories)
    }
}

impl FileSystemView<'_> {
    /// Hands on an error, and says which path was refused for want of a grant.
    pub(crate) fn refused(&self, path: &str, error: FsError) -> FsError {
        if let (Some((around, call)), Some(types::ErrorCode::NotPermitted)) = (self.refusals, error.downcast_ref()) {
            refusals::tell(around, call, Tried::Path, path);
        }
        error
    }
}

impl Waiting {
    /// Does at once what needs not wait, and anything else on the lane.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        guard: Option<Reach>,
        operation: impl Fn(Patience) -> OpResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.pass().await?;
        if !lane::is_here() {
            match operation(Patience::Cached) {
                Err(OpError::Waits) => {}
                done => return said(done),
            }
        }
        self.wait_inside(guard, move || operation(Patience::Any)).await
    }

    /// The host call passes the boundary; it is not known here which function it is.
    async fn pass(&self) -> FsResult<()> {
        self.gate.pass(FILE_SYSTEM).await.map(drop).map_err(FsError::trap)
    }

    /// Does what may wait, on the lane; where it may hang and is not needed, there is an end to the waiting.
    pub(crate) async fn wait<T: Send + 'static>(
        &self,
        guard: Option<Reach>,
        operation: impl FnOnce() -> OpResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.pass().await?;
        self.wait_inside(guard, operation).await
    }

    async fn wait_inside<T: Send + 'static>(
        &self,
        guard: Option<Reach>,
        operation: impl FnOnce() -> OpResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.ready().await.map_err(FsError::trap)?;
        said(Meter::apart(|| in_time(guard, operation)))
    }

    /// Resolves on the lane, and when it is this call's turn to have the kernel work for it.
    pub(crate) async fn ready(&self) -> wasmtime::Result<()> {
        self.lane.enter().await?;
        if self.meter.is_long() {
            self.meter.place().turn_of_kernel(&self.lane).await;
        }
        Ok(())
    }
}

fn said<T>(done: OpResult<T>) -> FsResult<T> {
    done.map_err(|trouble| match trouble {
        OpError::Refused(errno) => types::ErrorCode::from(std::io::Error::from(errno)).into(),
        OpError::Absent(guest) => FsError::trap(wasmtime::Error::from(Absent(guest))),
        OpError::Waits => types::ErrorCode::WouldBlock.into(),
    })
}
