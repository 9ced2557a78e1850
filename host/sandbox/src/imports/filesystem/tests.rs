//! Random programs of file operations give the same results here and in the engine's own implementation: values, errors,
//! and what is on the disk in the end.
//!
//! Left out by name, because they differ on purpose: FIFOs, sockets and devices (refused here); times of change (the
//! engine tells when a file was made); times of a granted directory itself (which it cannot set); hashes of metadata (equal for one file, and nothing else is promised); a directory
//! that changes while it is read (read at once there).

mod program;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;
use wasmtime_wasi::filesystem::{WasiFilesystemCtxView, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, HostDescriptor, HostDirectoryEntryStream, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, StreamError};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use self::program::{Op, op};
use super::*;
use crate::lane::Movable;
use crate::limiter::MemoryInUse;
use drivebay_files::descriptors::OpenFiles;
use drivebay_files::{Directories, DirectoryGrant, JobLimits, Jobs, Programs, View};
use drivebay_policy::limits::Limits;

/// The time that a program sets; others differ between two runs.
const SET: u64 = 1_234_567;

/// One of the two implementations, with a table of its own.
trait Side: Send {
    type View<'a>: types::Host + HostDescriptor + HostDirectoryEntryStream + preopens::Host + Send
    where
        Self: 'a;

    fn view(&mut self) -> Self::View<'_>;
    fn table(&mut self) -> &mut ResourceTable;
}

struct Ours {
    files: Files,
    table: ResourceTable,
    limiter: Limiter,
    waiting: Waiting,
}

impl Side for Ours {
    type View<'a> = FileSystemView<'a>;

    fn view(&mut self) -> FileSystemView<'_> {
        let Self { files, table, limiter, waiting } = self;
        FileSystemView { files, table, limiter, waiting, refusals: None }
    }

    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

struct Engines {
    ctx: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Engines {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.ctx, table: &mut self.table }
    }
}

impl Side for Engines {
    type View<'a> = WasiFilesystemCtxView<'a>;

    fn view(&mut self) -> WasiFilesystemCtxView<'_> {
        self.filesystem()
    }

    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

fn permissions(write: bool) -> FsPerms {
    if write { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
}

fn ours(pool: &Path, write: bool, lane: &Arc<Lane>) -> Ours {
    let grant = DirectoryGrant { host: pool.to_owned(), guest: "/pool".to_owned(), write };
    let jobs = Jobs::new("test", JobLimits::default(), Programs::system());
    let directories = Directories::new(&[grant]).unwrap();
    Ours {
        files: Files::new(directories, jobs, OpenFiles::new(64), View::Full),
        table: ResourceTable::new(),
        limiter: Limiter::new(&Limits::default(), &MemoryInUse::default()),
        waiting: Waiting { lane: Arc::clone(lane), meter: Meter::new(), gate: Gate::default() },
    }
}

fn engines(pool: &Path, write: bool) -> Engines {
    let mut ctx = WasiCtxBuilder::new();
    ctx.preopened_dir(pool, "/pool", permissions(write)).unwrap();
    Engines { ctx: ctx.build(), table: ResourceTable::new() }
}

/// Runs a program; tells what each step gave.
async fn run<S: Side>(mut side: S, program: Vec<Op>) -> Vec<String> {
    let mut open = Vec::new();
    for (directory, name) in preopens::Host::get_directories(&mut side.view()).unwrap() {
        assert_eq!(name, "/pool");
        open.push(directory.rep());
    }
    let mut told = Vec::new();
    for op in program {
        let said = format!("{op:?}");
        told.push(format!("{said}: {}", step(&mut side, &mut open, op).await));
    }
    told
}

fn told<V: types::Host, T: std::fmt::Debug>(view: &mut V, result: FsResult<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => match view.convert_error_code(error) {
            Ok(code) => format!("{code:?}"),
            Err(trap) => format!("trap: {trap}"),
        },
    }
}

/// What is the same in two runs.
fn stat(stat: DescriptorStat) -> String {
    let size = match stat.type_ {
        // Of a directory it is the file system's business.
        types::DescriptorType::Directory => 0,
        _ => stat.size,
    };
    let links = stat.link_count;
    let set =
        [stat.data_access_timestamp, stat.data_modification_timestamp].map(|at| at.is_some_and(|at| at.seconds == SET));
    format!("{:?} {size} {links} {set:?}", stat.type_)
}

#[expect(clippy::too_many_lines, reason = "a few lines for each operation")]
async fn step<S: Side>(side: &mut S, open: &mut Vec<u32>, op: Op) -> String {
    // The granted directory stays; the last ones are used most.
    let handle = |at: usize| Resource::new_borrow(open[at.min(open.len() - 1)]);
    let follows = |follow: bool| if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
    let set = || NewTimestamp::Timestamp(Datetime { seconds: SET, nanoseconds: 5 });
    let mut view = side.view();
    match op {
        Op::Open { at, path, follow, how, access } => {
            let bits = [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE, OpenFlags::DIRECTORY];
            let how = bits.into_iter().enumerate().filter(|(n, _)| how >> n & 1 == 1);
            let how = how.fold(OpenFlags::empty(), |all, (_, bit)| all | bit);
            let read = if access & 1 == 1 { DescriptorFlags::READ } else { DescriptorFlags::empty() };
            let write = if access & 2 == 2 { DescriptorFlags::WRITE } else { DescriptorFlags::empty() };
            let opened = view.open_at(handle(at), follows(follow), path, how, read | write).await;
            let rep = opened.as_ref().ok().map(Resource::rep);
            open.extend(rep);
            told(&mut view, opened.map(drop))
        }
        Op::Close(at) => {
            if at == 0 || open.len() == 1 {
                return String::new();
            }
            let closed = open.remove(at.min(open.len() - 1));
            format!("{:?}", HostDescriptor::drop(&mut view, Resource::new_own(closed)).is_ok())
        }
        Op::Read { at, length, offset } => {
            let read = view.read(handle(at), length, offset).await;
            told(&mut view, read)
        }
        Op::Write { at, length, offset } => {
            let written = view.write(handle(at), vec![7; length], offset).await;
            told(&mut view, written)
        }
        Op::StreamIn { at, offset } => match view.read_via_stream(handle(at), offset) {
            Ok(stream) => {
                drop(view);
                read_stream(side.table().delete(stream).unwrap()).await
            }
            Err(error) => told::<_, ()>(&mut view, Err(error)),
        },
        Op::StreamOut { at, length, offset } => {
            let stream = match offset {
                Some(offset) => view.write_via_stream(handle(at), offset),
                None => view.append_via_stream(handle(at)),
            };
            match stream {
                Ok(stream) => {
                    drop(view);
                    write_stream(side.table().delete(stream).unwrap(), length).await
                }
                Err(error) => told::<_, ()>(&mut view, Err(error)),
            }
        }
        Op::SetSize { at, size } => {
            let done = view.set_size(handle(at), size).await;
            told(&mut view, done)
        }
        // The engine cannot: it has no right to a granted directory itself.
        Op::SetTimes { at, path: None, .. } if at == 0 || open.len() == 1 => String::new(),
        Op::SetTimes { at, path, follow } => {
            let done = match path {
                Some(path) => view.set_times_at(handle(at), follows(follow), path, set(), set()).await,
                None => view.set_times(handle(at), set(), NewTimestamp::NoChange).await,
            };
            told(&mut view, done)
        }
        Op::Stat(at) => {
            let known = view.stat(handle(at)).await;
            told(&mut view, known.map(stat))
        }
        Op::StatAt { at, path, follow } => {
            let known = view.stat_at(handle(at), follows(follow), path).await;
            told(&mut view, known.map(stat))
        }
        Op::About(at) => {
            let (kind, flags) = (view.get_type(handle(at)).await, view.get_flags(handle(at)).await);
            told(&mut view, kind) + &told(&mut view, flags)
        }
        Op::Same(one, other) => format!("{}", view.is_same_object(handle(one), handle(other)).await.unwrap()),
        Op::List(at) => list(&mut view, handle(at)).await,
        Op::MakeDirectory { at, path } => {
            let done = view.create_directory_at(handle(at), path).await;
            told(&mut view, done)
        }
        Op::RemoveDirectory { at, path } => {
            let done = view.remove_directory_at(handle(at), path).await;
            told(&mut view, done)
        }
        Op::Unlink { at, path } => {
            let done = view.unlink_file_at(handle(at), path).await;
            told(&mut view, done)
        }
        Op::Rename { at, path, to, new } => {
            let done = view.rename_at(handle(at), path, handle(to), new).await;
            told(&mut view, done)
        }
        Op::Link { at, path, follow, to, new } => {
            let done = view.link_at(handle(at), follows(follow), path, handle(to), new).await;
            told(&mut view, done)
        }
        Op::Symlink { at, text, path } => {
            let done = view.symlink_at(handle(at), text, path).await;
            told(&mut view, done)
        }
        Op::ReadLink { at, path } => {
            let done = view.readlink_at(handle(at), path).await;
            told(&mut view, done)
        }
        Op::Sync { at, contents } => {
            let done = if contents { view.sync_data(handle(at)).await } else { view.sync(handle(at)).await };
            told(&mut view, done)
        }
    }
}

async fn list<V: types::Host + HostDescriptor + HostDirectoryEntryStream>(
    view: &mut V,
    directory: Resource<types::Descriptor>,
) -> String {
    let stream = match view.read_directory(directory).await {
        Ok(stream) => stream.rep(),
        Err(error) => return told::<_, ()>(view, Err(error)),
    };
    let mut entries = Vec::new();
    loop {
        match view.read_directory_entry(Resource::new_borrow(stream)).await {
            Ok(Some(entry)) => entries.push(format!("{entry:?}")),
            Ok(None) => break,
            Err(error) => return told::<_, ()>(view, Err(error)),
        }
    }
    HostDirectoryEntryStream::drop(view, Resource::new_own(stream)).unwrap();
    entries.sort();
    entries.join(", ")
}

fn ended(error: StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => {
            format!("failed: {:?}", error.downcast_ref::<std::io::Error>().map(types::ErrorCode::from))
        }
        StreamError::Trap(error) => format!("trap: {error}"),
    }
}

async fn read_stream(mut stream: DynInputStream) -> String {
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(1000).await {
            Ok(read) => bytes.extend_from_slice(&read),
            Err(error) => return format!("{bytes:?} {}", ended(error)),
        }
    }
}

async fn write_stream(mut stream: DynOutputStream, length: usize) -> String {
    let done = stream.blocking_write_and_flush(vec![9; length].into()).await;
    // As a guest that does it step by step.
    let ready = stream.write_ready().await.map(|room| room > 0);
    let wrote = ready.and_then(|_| stream.write(vec![8; 10].into()));
    let flushed = wrote.and_then(|()| stream.flush());
    let waited = stream.write_ready().await.map(|room| room > 0);
    stream.cancel().await;
    let words = |said: Result<(), StreamError>| said.map_or_else(ended, |()| "done".to_owned());
    format!("{}, {}, {}", words(done), words(flushed), words(waited.map(drop)))
}

/// Everything below a directory.
fn tree(at: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let known = path.symlink_metadata().unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if known.is_dir() {
            found.extend(tree(&path).into_iter().map(|below| format!("{name}/{below}")));
            found.push(name);
        } else if known.is_symlink() {
            found.push(format!("{name} -> {}", path.read_link().unwrap().display()));
        } else {
            found.push(format!("{name} {:?}", std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// A pool that has something in it, and something beside it that nobody may see.
fn pool() -> (TempDir, std::path::PathBuf) {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a"), "outside").unwrap();
    let pool = outside.path().join("pool");
    std::fs::create_dir_all(pool.join("b/c")).unwrap();
    std::fs::write(pool.join("c"), [1; 5000]).unwrap();
    (outside, pool)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_give_what_the_engines_implementation_gives(program in vec(op(), 1..40), write in prop::bool::weighted(0.9)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ((one_outside, one), (other_outside, other)) = (pool(), pool());
        let (own, theirs) = runtime.block_on(async {
            let lane = Lane::new("b");
            let own = Movable::new(&lane, run(ours(&one, write, &lane), program.clone())).await;
            (own, run(engines(&other, write), program).await)
        });
        prop_assert_eq!(own, theirs);
        prop_assert_eq!(tree(&one), tree(&other));
        for outside in [one_outside, other_outside] {
            prop_assert_eq!(std::fs::read(outside.path().join("a")).unwrap(), b"outside");
        }
    }
}
