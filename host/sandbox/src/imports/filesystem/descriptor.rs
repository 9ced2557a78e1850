//! The functions of descriptors and of streams of entries.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::io::streams::{InputStream, OutputStream};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::streams::{Reader, Start, Writer};
use super::translate::{
    advice, follows, hash, inward, inward_entries, kind, opening, outward, outward_entries, stat, time,
};
use super::{FileSystemView, said};
use drivebay_files::descriptors::{Directory, Done, Entries, File, Kind, Modes, Opened, Patience, Root, Stat};

/// Bytes that are read or written at once; between two of them a guest can be interrupted.
pub(super) const CHUNK: usize = 64 * 1024;

/// What a component holds.
#[derive(Debug)]
pub(super) enum Descriptor {
    Root(Root),
    Directory(Directory),
    File(Arc<File>),
}

impl Descriptor {
    fn file(&self) -> Result<&Arc<File>, ErrorCode> {
        match self {
            Self::File(file) => Ok(file),
            Self::Root(_) | Self::Directory(_) => Err(ErrorCode::BadDescriptor),
        }
    }

    fn folder(&self) -> Result<Folder<'_>, ErrorCode> {
        match self {
            Self::Root(root) => Ok(Folder::Root(root)),
            Self::Directory(directory) => Ok(Folder::Open(directory)),
            Self::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    fn stat(&self, patience: Patience) -> Done<Stat> {
        match self {
            Self::File(file) => file.stat(patience),
            Self::Root(root) => root.directory(patience)?.stat(patience),
            Self::Directory(directory) => directory.stat(patience),
        }
    }

    fn sync(&self, contents_only: bool) -> Done<()> {
        match self {
            Self::File(file) => file.sync(contents_only),
            Self::Root(root) => root.directory(Patience::Any)?.sync(contents_only),
            Self::Directory(directory) => directory.sync(contents_only),
        }
    }
}

/// A directory that is open, or will be.
#[derive(Debug, Clone, Copy)]
enum Folder<'a> {
    Root(&'a Root),
    Open(&'a Directory),
}

impl<'a> Folder<'a> {
    fn get(self, patience: Patience) -> Done<&'a Directory> {
        match self {
            Self::Root(root) => root.directory(patience),
            Self::Open(directory) => Ok(directory),
        }
    }

    /// Where waiting is allowed.
    fn open(self) -> Done<&'a Directory> {
        self.get(Patience::Any)
    }
}

impl FileSystemView<'_> {
    fn descriptor(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<&Descriptor> {
        Ok(self.table.get(&inward(descriptor))?)
    }

    fn folder(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<Folder<'_>> {
        Ok(self.descriptor(descriptor)?.folder()?)
    }

    fn file(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<&Arc<File>> {
        Ok(self.descriptor(descriptor)?.file()?)
    }

    /// A stream that writes.
    fn write_from(&mut self, file: &Resource<types::Descriptor>, start: Start) -> FsResult<Resource<OutputStream>> {
        let file = Arc::clone(self.file(file)?);
        said(file.check_change())?;
        let writer: DynOutputStream = Box::new(Writer::new(file, start, self.waiting.clone()));
        Ok(self.table.push(writer)?)
    }
}

impl types::Host for FileSystemView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<std::io::Error>().map(ErrorCode::from))
    }
}

impl HostDescriptor for FileSystemView<'_> {
    async fn advise(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: Filesize,
        length: Filesize,
        how: types::Advice,
    ) -> FsResult<()> {
        let file = self.file(&fd)?;
        self.waiting.wait(|| file.advise(offset, length, advice(how))).await
    }

    async fn sync_data(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?;
        self.waiting.wait(|| descriptor.sync(true)).await
    }

    async fn get_flags(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorFlags> {
        let (Modes { reads, writes }, change) = match self.descriptor(&fd)? {
            Descriptor::File(file) => (file.modes, DescriptorFlags::WRITE),
            Descriptor::Directory(directory) => (directory.modes, DescriptorFlags::MUTATE_DIRECTORY),
            Descriptor::Root(root) => {
                (Modes { reads: true, writes: root.may_change() }, DescriptorFlags::MUTATE_DIRECTORY)
            }
        };
        let mut flags = DescriptorFlags::empty();
        flags |= if reads { DescriptorFlags::READ } else { DescriptorFlags::empty() };
        flags |= if writes { change } else { DescriptorFlags::empty() };
        Ok(flags)
    }

    async fn get_type(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorType> {
        Ok(match self.descriptor(&fd)? {
            Descriptor::File(_) => kind(Kind::Regular),
            Descriptor::Root(_) | Descriptor::Directory(_) => kind(Kind::Directory),
        })
    }

    async fn set_size(&mut self, fd: Resource<types::Descriptor>, size: Filesize) -> FsResult<()> {
        let file = self.file(&fd)?;
        self.waiting.wait(|| file.set_size(size)).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<types::Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?;
        let (accessed, modified) = (time(accessed)?, time(modified)?);
        let set = || match descriptor {
            Descriptor::File(file) => file.set_times(accessed, modified),
            Descriptor::Root(root) => root.directory(Patience::Any)?.set_times(accessed, modified),
            Descriptor::Directory(directory) => directory.set_times(accessed, modified),
        };
        self.waiting.wait(set).await
    }

    async fn read(
        &mut self,
        fd: Resource<types::Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let file = self.file(&fd)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(CHUNK);
        let read = |patience| {
            let mut bytes = vec![0; length];
            let count = file.read(&mut bytes, offset, patience)?;
            bytes.truncate(count);
            Ok((bytes, count == 0))
        };
        self.waiting.run(read).await
    }

    async fn write(&mut self, fd: Resource<types::Descriptor>, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let file = self.file(&fd)?;
        said(file.check_change())?;
        let written = self.waiting.wait(|| file.write(&bytes, offset)).await?;
        Ok(Filesize::try_from(written).unwrap_or(Filesize::MAX))
    }

    async fn read_directory(&mut self, fd: Resource<types::Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let folder = self.folder(&fd)?;
        let entries = self.waiting.wait(|| folder.open()?.entries()).await?;
        self.limiter.hold(Entries::MEMORY).map_err(FsError::trap)?;
        Ok(outward_entries(&self.table.push(entries)?))
    }

    async fn sync(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?;
        self.waiting.wait(|| descriptor.sync(false)).await
    }

    async fn create_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(|| folder.open()?.create_directory(&path)).await.map_err(|error| self.refused(&path, error))
    }

    async fn stat(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorStat> {
        let descriptor = self.descriptor(&fd)?;
        Ok(stat(self.waiting.run(|patience| descriptor.stat(patience)).await?))
    }

    async fn stat_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        Ok(stat(self.look(&fd, flags, &path).await?))
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        let (accessed, modified) = (time(accessed)?, time(modified)?);
        let set = || folder.open()?.set_times_at(&path, follows(flags), accessed, modified);
        self.waiting.wait(set).await
    }

    async fn link_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        flags: PathFlags,
        path: String,
        target: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (folder, target) = (self.folder(&fd)?, self.folder(&target)?);
        self.waiting.wait(|| folder.open()?.link(&path, follows(flags), target.open()?, &new_path)).await
    }

    async fn open_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<types::Descriptor>> {
        let folder = self.folder(&fd)?;
        let how = opening(path_flags, open_flags, flags)?;
        let opened = self.waiting.run(|patience| folder.get(patience)?.open(&path, how, patience)).await;
        let opened = opened.map_err(|error| self.refused(&path, error))?;
        let descriptor = match opened {
            Opened::File(file) => Descriptor::File(Arc::new(file)),
            Opened::Directory(directory) => Descriptor::Directory(directory),
        };
        Ok(outward(&self.table.push(descriptor)?))
    }

    fn drop(&mut self, fd: Resource<types::Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(inward(&fd))?;
        Ok(())
    }

    async fn readlink_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<String> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(|| folder.open()?.read_link(&path)).await.map_err(|error| self.refused(&path, error))
    }

    async fn remove_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(|| folder.open()?.remove_directory(&path)).await.map_err(|error| self.refused(&path, error))
    }

    async fn rename_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
        target: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (folder, target) = (self.folder(&fd)?, self.folder(&target)?);
        self.waiting.wait(|| folder.open()?.rename(&path, target.open()?, &new_path)).await
    }

    async fn symlink_at(&mut self, fd: Resource<types::Descriptor>, text: String, path: String) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(|| folder.open()?.symlink(&text, &path)).await
    }

    async fn unlink_file_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(|| folder.open()?.unlink(&path)).await.map_err(|error| self.refused(&path, error))
    }

    fn read_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<InputStream>> {
        let Descriptor::File(file) = self.descriptor(&fd)? else { return Err(ErrorCode::IsDirectory.into()) };
        let reader: DynInputStream = Box::new(Reader::new(Arc::clone(file), offset, self.waiting.clone()));
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<OutputStream>> {
        self.write_from(&fd, Start::At(offset))
    }

    fn append_via_stream(&mut self, fd: Resource<types::Descriptor>) -> FsResult<Resource<OutputStream>> {
        self.write_from(&fd, Start::End)
    }

    async fn is_same_object(
        &mut self,
        one: Resource<types::Descriptor>,
        other: Resource<types::Descriptor>,
    ) -> wasmtime::Result<bool> {
        let (one, other) = (self.table.get(&inward(&one))?, self.table.get(&inward(&other))?);
        let same = |patience| Ok(one.stat(patience)?.identity == other.stat(patience)?.identity);
        match self.waiting.run(same).await {
            Ok(same) => Ok(same),
            // It has no error to answer; two files of which nothing can be known are not known to be one.
            Err(error) => error.downcast().map(|_| false),
        }
    }

    async fn metadata_hash(&mut self, fd: Resource<types::Descriptor>) -> FsResult<MetadataHashValue> {
        let descriptor = self.descriptor(&fd)?;
        Ok(hash(self.waiting.run(|patience| descriptor.stat(patience)).await?.identity))
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        Ok(hash(self.look(&fd, flags, &path).await?.identity))
    }
}

impl FileSystemView<'_> {
    async fn look(&mut self, fd: &Resource<types::Descriptor>, flags: PathFlags, path: &str) -> FsResult<Stat> {
        let folder = self.folder(fd)?;
        let look = |patience| folder.get(patience)?.stat_at(path, follows(flags), patience);
        self.waiting.run(look).await.map_err(|error| self.refused(path, error))
    }
}

impl HostDirectoryEntryStream for FileSystemView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let entries = self.table.get_mut(&inward_entries(&stream))?;
        let entry = match entries.read_before() {
            Some(entry) => entry,
            None => match self.waiting.wait(|| entries.read_on()).await? {
                Some(entry) => entry,
                None => return Ok(None),
            },
        };
        let name = entry.name.ok_or(ErrorCode::IllegalByteSequence)?;
        Ok(Some(DirectoryEntry { type_: kind(entry.kind), name }))
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(inward_entries(&stream))?;
        self.limiter.release(Entries::MEMORY);
        Ok(())
    }
}
