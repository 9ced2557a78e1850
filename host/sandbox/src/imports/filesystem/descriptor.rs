//! The functions of descriptors and of streams of entries.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::io::streams::{InputStream, OutputStream};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::CHUNK;
use super::held::{Descriptor, Folder, Listing};
use super::streams::{Reader, Start, Writer, take};
use super::translate::{
    advice, follows, hash, inward, inward_entries, kind, opening, outward, outward_entries, stat, time,
};
use super::{FileSystemView, said};
use drivebay_files::Reach;
use drivebay_files::descriptors::{Directory, Entries, File, Kind, Modes, OpResult, Opened, Patience, Stat};

impl FileSystemView<'_> {
    fn descriptor(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<&Descriptor> {
        Ok(self.table.get(&inward(descriptor))?)
    }

    fn folder(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<Folder> {
        Ok(self.descriptor(descriptor)?.folder()?)
    }

    fn file(&self, descriptor: &Resource<types::Descriptor>) -> FsResult<Arc<File>> {
        Ok(Arc::clone(self.descriptor(descriptor)?.file()?))
    }

    /// Does something with a path in a directory, where waiting is allowed.
    async fn at<T: Send + 'static>(
        &mut self,
        directory: &Resource<types::Descriptor>,
        path: String,
        work: impl FnOnce(&Directory, &str) -> OpResult<T> + Send + 'static,
    ) -> FsResult<T> {
        let (folder, own) = (self.folder(directory)?, path.clone());
        let done = self.waiting.wait(folder.guard(), move || work(folder.open()?, &own)).await;
        done.map_err(|error| self.refused(&path, error))
    }

    /// A stream that writes.
    fn write_from(&mut self, file: &Resource<types::Descriptor>, start: Start) -> FsResult<Resource<OutputStream>> {
        let file = self.file(file)?;
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
        self.waiting.wait(file.guard(), move || file.advise(offset, length, advice(how))).await
    }

    async fn sync_data(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?.clone();
        self.waiting.wait(descriptor.guard().map(Reach::for_long), move || descriptor.sync(true)).await
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
        self.waiting.wait(file.guard(), move || file.set_size(size)).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<types::Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?.clone();
        let (accessed, modified) = (time(accessed)?, time(modified)?);
        let guard = descriptor.guard();
        let set = move || match descriptor {
            Descriptor::File(file) => file.set_times(accessed, modified),
            Descriptor::Root(root) => root.directory(Patience::Any)?.set_times(accessed, modified),
            Descriptor::Directory(directory) => directory.set_times(accessed, modified),
        };
        self.waiting.wait(guard, set).await
    }

    async fn read(
        &mut self,
        fd: Resource<types::Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let file = self.file(&fd)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(CHUNK);
        let bytes = self.waiting.run(file.guard(), move |patience| take(&file, length, offset, patience)).await?;
        let ended = bytes.is_empty();
        Ok((bytes, ended))
    }

    async fn write(&mut self, fd: Resource<types::Descriptor>, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let file = self.file(&fd)?;
        said(file.check_change())?;
        let written = self.waiting.wait(file.guard(), move || file.write(&bytes, offset)).await?;
        Ok(Filesize::try_from(written).unwrap_or(Filesize::MAX))
    }

    async fn read_directory(&mut self, fd: Resource<types::Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let folder = self.folder(&fd)?;
        let guard = folder.guard();
        let entries = self.waiting.wait(guard.clone(), move || folder.open()?.entries()).await?;
        self.limiter.hold(Entries::MEMORY).map_err(FsError::trap)?;
        Ok(outward_entries(&self.table.push(Listing::new(entries, guard))?))
    }

    async fn sync(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        let descriptor = self.descriptor(&fd)?.clone();
        self.waiting.wait(descriptor.guard().map(Reach::for_long), move || descriptor.sync(false)).await
    }

    async fn create_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.at(&fd, path, Directory::create_directory).await
    }

    async fn stat(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorStat> {
        let descriptor = self.descriptor(&fd)?.clone();
        Ok(stat(self.waiting.run(descriptor.guard(), move |patience| descriptor.stat(patience)).await?))
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
        let guard = folder.guard();
        let set = move || folder.open()?.set_times_at(&path, follows(flags), accessed, modified);
        self.waiting.wait(guard, set).await
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
        let guard = Reach::to_all([folder.guard(), target.guard()]);
        let link = move || folder.open()?.link(&path, follows(flags), target.open()?, &new_path);
        self.waiting.wait(guard, link).await
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
        let (guard, own) = (folder.guard(), path.clone());
        let opened = self.waiting.run(guard, move |patience| folder.get(patience)?.open(&own, how, patience)).await;
        let opened = opened.map_err(|error| self.refused(&path, error))?;
        let descriptor = match opened {
            Opened::File(file) => Descriptor::File(Arc::new(file)),
            Opened::Directory(directory) => Descriptor::Directory(Arc::new(directory)),
        };
        Ok(outward(&self.table.push(descriptor)?))
    }

    fn drop(&mut self, fd: Resource<types::Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(inward(&fd))?;
        Ok(())
    }

    async fn readlink_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<String> {
        self.at(&fd, path, Directory::read_link).await
    }

    async fn remove_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.at(&fd, path, Directory::remove_directory).await
    }

    async fn rename_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
        target: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (folder, target) = (self.folder(&fd)?, self.folder(&target)?);
        let guard = Reach::to_all([folder.guard(), target.guard()]);
        self.waiting.wait(guard, move || folder.open()?.rename(&path, target.open()?, &new_path)).await
    }

    async fn symlink_at(&mut self, fd: Resource<types::Descriptor>, text: String, path: String) -> FsResult<()> {
        let folder = self.folder(&fd)?;
        self.waiting.wait(folder.guard(), move || folder.open()?.symlink(&text, &path)).await
    }

    async fn unlink_file_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.at(&fd, path, Directory::unlink).await
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
        let (one, other) = (self.table.get(&inward(&one))?.clone(), self.table.get(&inward(&other))?.clone());
        let guard = Reach::to_all([one.guard(), other.guard()]);
        let same = move |patience| Ok(one.stat(patience)?.identity == other.stat(patience)?.identity);
        match self.waiting.run(guard, same).await {
            Ok(same) => Ok(same),
            // It has no error to answer; two files of which nothing can be known are not known to be one.
            Err(error) => error.downcast().map(|_| false),
        }
    }

    async fn metadata_hash(&mut self, fd: Resource<types::Descriptor>) -> FsResult<MetadataHashValue> {
        let descriptor = self.descriptor(&fd)?.clone();
        let stat = self.waiting.run(descriptor.guard(), move |patience| descriptor.stat(patience)).await?;
        Ok(hash(stat.identity))
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
        let (folder, own) = (self.folder(fd)?, path.to_owned());
        let guard = folder.guard();
        let look = move |patience| folder.get(patience)?.stat_at(&own, follows(flags), patience);
        self.waiting.run(guard, look).await.map_err(|error| self.refused(path, error))
    }
}

impl HostDirectoryEntryStream for FileSystemView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let listing = self.table.get(&inward_entries(&stream))?;
        let entry = match listing.before() {
            Some(entry) => entry,
            None => match self.waiting.wait(listing.guard.clone(), listing.read_on()).await? {
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
