//! Whether a loop device may go past the page cache of its image.
//!
//! It saves a second copy of everything, and loses data where the file system below only says that it can: an ext4 on a
//! loop device above a FUSE export was damaged by it, and an overlay above a tmpfs answers with errors. So it is tried
//! first, and never used above FUSE.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;

/// `FUSE_SUPER_MAGIC` of the kernel's interface.
const FUSE: rustix::fs::FsWord = 0x6573_5546;
/// Larger than the block of any disk that is in use.
const BLOCK: usize = 4096;

/// Memory that a device can read into.
#[repr(align(4096))]
struct Block([u8; BLOCK]);

/// Why direct I/O is not used for this image; none: it is sound.
pub(super) fn objection(image: BorrowedFd<'_>) -> Option<String> {
    match rustix::fs::fstatfs(image) {
        Ok(below) if below.f_type == FUSE => return Some("it is damaged above FUSE".to_owned()),
        Ok(_) => {}
        Err(errno) => return Some(format!("the file system below is not known ({errno})")),
    }
    let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(format!("/proc/self/fd/{}", image.as_raw_fd()));
    let mut block = Box::new(Block([0; BLOCK]));
    let read = opened.and_then(|image| image.read_at(&mut block.0, 0));
    read.err().map(|error| format!("the file system below refuses it ({error})"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_cannot_be_read_past_the_page_cache_is_not_used_so() {
        // A file of the kernel's, which has nothing below it.
        let unable = File::open("/proc/self/mountinfo").unwrap();
        assert!(objection(unable.as_fd()).unwrap().contains("refuses it"));
    }

    #[test]
    fn an_image_on_a_disk_is() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("image");
        std::fs::write(&path, [7; 2 * BLOCK]).unwrap();
        let image = File::open(&path).unwrap();
        let able =
            OpenOptions::new().read(true).custom_flags(i32::try_from(OFlags::DIRECT.bits()).unwrap()).open(&path);
        // The same as the kernel answers when asked.
        assert_eq!(objection(image.as_fd()).is_none(), able.is_ok());
    }
}
