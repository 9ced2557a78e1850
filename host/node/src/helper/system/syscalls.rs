//! The system calls that no crate wraps: loop and freeze ioctls, mount attributes.
//!
//! The only file of node work with unsafe code, besides the start of its processes and of programs,
//! so that all of it can be read in one sitting. It must not interpret results.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{self, Getter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, Updater, opcode};
use rustix::mount::MountAttrFlags;

use crate::protocol::Access;

const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_SET_STATUS64: Opcode = 0x4C04;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_SET_CAPACITY: Opcode = 0x4C07;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;
const BLKROSET: Opcode = 0x125D;
const SG_IO: Opcode = 0x2285;
const FIFREEZE: Opcode = opcode::read_write::<c_int>(b'X', 119);
const FITHAW: Opcode = opcode::read_write::<c_int>(b'X', 120);
const FITRIM: Opcode = opcode::read_write::<TrimRange>(b'X', 121);

/// The device refuses writes.
pub(crate) const LOOP_READ_ONLY: u32 = 1;
/// The device goes when nobody has it open any more.
pub(crate) const LOOP_AUTOCLEAR: u32 = 4;
/// The device bypasses the image's page cache where the file system below can.
pub(crate) const LOOP_DIRECT_IO: u32 = 16;

/// `struct loop_info64` of the kernel's interface.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopStatus {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) rdevice: u64,
    pub(crate) offset: u64,
    pub(crate) size_limit: u64,
    pub(crate) number: u32,
    pub(crate) encrypt_type: u32,
    pub(crate) encrypt_key_size: u32,
    pub(crate) flags: u32,
    pub(crate) file_name: [u8; 64],
    pub(crate) crypt_name: [u8; 64],
    pub(crate) encrypt_key: [u8; 32],
    pub(crate) init: [u64; 2],
}

impl LoopStatus {
    /// All zero, with a name.
    pub(crate) fn named(name: &str, flags: u32) -> Self {
        let mut file_name = [0; 64];
        // The last byte stays zero: the kernel reads a C string.
        for (place, byte) in file_name.iter_mut().take(63).zip(name.bytes()) {
            *place = byte;
        }
        Self {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        }
    }
}

/// `struct loop_config`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct LoopConfig {
    image: c_uint,
    block_size: u32,
    status: LoopStatus,
    reserved: [u64; 8],
}

/// `struct fstrim_range`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct TrimRange {
    start: u64,
    length: u64,
    shortest: u64,
}

/// The number comes back as the call's result, which no pattern of the crate covers.
struct FreeNumber;

#[allow(unsafe_code, reason = "implementing an ioctl")]
// SAFETY: the operation takes no argument and answers with a number; no memory is involved.
unsafe impl Ioctl for FreeNumber {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = false;
    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }
    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }
    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(out)
    }
}

/// Asks `/dev/loop-control` for the number of a free device.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_free_number(control: impl AsFd) -> rustix::io::Result<u32> {
    // SAFETY: see the implementation.
    let number = unsafe { ioctl::ioctl(control, FreeNumber) }?;
    u32::try_from(number).map_err(|_| Errno::NXIO)
}

/// Gives a free loop device its image. The block size is in bytes.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_configure(
    device: impl AsFd,
    image: BorrowedFd<'_>,
    block_size: u32,
    status: LoopStatus,
) -> rustix::io::Result<()> {
    let image = c_uint::try_from(image.as_raw_fd()).map_err(|_| Errno::BADF)?;
    let config = LoopConfig { image, block_size, status, reserved: [0; 8] };
    // SAFETY: the operation reads one `loop_config`, which is what it gets.
    unsafe { ioctl::ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) }
}

/// What a loop device stands on; `ENXIO` when it is free.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_status(device: impl AsFd) -> rustix::io::Result<LoopStatus> {
    // SAFETY: the operation fills one `loop_info64`.
    unsafe { ioctl::ioctl(device, Getter::<LOOP_GET_STATUS64, LoopStatus>::new()) }
}

/// Changes what can be changed of a configured device.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_set_status(device: impl AsFd, status: LoopStatus) -> rustix::io::Result<()> {
    // SAFETY: the operation reads one `loop_info64`.
    unsafe { ioctl::ioctl(device, Setter::<LOOP_SET_STATUS64, LoopStatus>::new(status)) }
}

/// Takes the image's present size.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_set_capacity(device: impl AsFd) -> rustix::io::Result<()> {
    // SAFETY: the operation takes no argument.
    unsafe { ioctl::ioctl(device, NoArg::<LOOP_SET_CAPACITY>::new()) }
}

/// Frees the device, once nobody has it open any more.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn loop_clear(device: impl AsFd) -> rustix::io::Result<()> {
    // SAFETY: the operation takes no argument.
    unsafe { ioctl::ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }
}

/// Freezes the file system that the descriptor is on.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn freeze(root: impl AsFd) -> rustix::io::Result<()> {
    // SAFETY: the operation ignores its argument.
    unsafe { ioctl::ioctl(root, NoArg::<FIFREEZE>::new()) }
}

/// Thaws it; `EINVAL` when it is not frozen.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn thaw(root: impl AsFd) -> rustix::io::Result<()> {
    // SAFETY: the operation ignores its argument.
    unsafe { ioctl::ioctl(root, NoArg::<FITHAW>::new()) }
}

/// Discards all unused blocks; returns how many bytes.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn trim(root: impl AsFd) -> rustix::io::Result<u64> {
    let mut range = TrimRange { start: 0, length: u64::MAX, shortest: 0 };
    // SAFETY: the operation reads and writes one `fstrim_range`.
    unsafe { ioctl::ioctl(root, Updater::<FITRIM, TrimRange>::new(&mut range)) }?;
    Ok(range.length)
}

/// Makes a block device refuse writes, or take them.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn set_read_only(device: impl AsFd, read_only: bool) -> rustix::io::Result<()> {
    // SAFETY: the operation reads one `int`, which is what it gets.
    unsafe { ioctl::ioctl(device, Setter::<BLKROSET, c_int>::new(c_int::from(read_only))) }
}

/// `struct sg_io_hdr`.
#[repr(C)]
#[derive(Debug)]
struct ScsiCommand {
    interface: c_int,
    direction: c_int,
    command_length: u8,
    sense_length: u8,
    vectors: u16,
    data_length: c_uint,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: c_uint,
    flags: c_uint,
    id: c_int,
    pointer: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residue: c_int,
    duration: c_uint,
    info: c_uint,
}

/// Asks a SCSI disk for a page of what it says of itself. It is the disk that answers, not what the kernel remembers.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn scsi_inquiry(disk: impl AsFd, page: u8, timeout_ms: u32) -> rustix::io::Result<Vec<u8>> {
    const FROM_DEVICE: c_int = -3;
    let (mut data, mut sense) = ([0_u8; 252], [0_u8; 32]);
    // INQUIRY, a page, and the length of the answer in two bytes.
    let command = [0x12, 1, page, 0, 252, 0];
    let mut header = ScsiCommand {
        interface: c_int::from(b'S'),
        direction: FROM_DEVICE,
        command_length: 6,
        sense_length: 32,
        vectors: 0,
        data_length: 252,
        data: data.as_mut_ptr().cast(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms,
        flags: 0,
        id: 0,
        pointer: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        residue: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the operation reads and writes one `sg_io_hdr` and the three buffers that it names with their lengths; all
    // outlive the call.
    unsafe { ioctl::ioctl(disk, Updater::<SG_IO, ScsiCommand>::new(&mut header)) }?;
    if header.status != 0 || header.host_status != 0 || header.driver_status != 0 {
        return Err(Errno::IO);
    }
    let length = usize::try_from(252_i32.saturating_sub(header.residue)).unwrap_or(0).min(data.len());
    Ok(data.get(..length).unwrap_or_default().to_vec())
}

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Debug, Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// The status of the command comes back as the call's result, which no pattern of the crate covers.
struct NvmeAdmin<'a>(&'a mut NvmeCommand);

#[allow(unsafe_code, reason = "implementing an ioctl")]
// SAFETY: the operation reads and writes one `nvme_passthru_cmd`, which is borrowed for as long as the call takes.
unsafe impl Ioctl for NvmeAdmin<'_> {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = true;
    fn opcode(&self) -> Opcode {
        opcode::read_write::<NvmeCommand>(b'N', 0x41)
    }
    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut *self.0).cast()
    }
    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(out)
    }
}

/// Bytes of what Identify answers.
pub(crate) const NVME_PAGE: usize = 4096;

/// Has an NVMe controller identify a namespace, in the way that `structure` (CNS) says. It is the controller that answers, not what
/// the kernel remembers. The inner error is the status that it ended the command with.
#[allow(unsafe_code, reason = "ioctl")]
pub(crate) fn nvme_identify(
    controller: impl AsFd,
    namespace: u32,
    structure: u8,
    timeout_ms: u32,
) -> rustix::io::Result<Result<Box<[u8; NVME_PAGE]>, u16>> {
    const IDENTIFY: u8 = 6;
    let mut page = Box::new([0_u8; NVME_PAGE]);
    let mut command = NvmeCommand {
        opcode: IDENTIFY,
        namespace,
        data: page.as_mut_ptr().expose_provenance() as u64,
        data_length: 4096,
        timeout_ms,
        ..NvmeCommand::default()
    };
    command.words_10_15[0] = u32::from(structure);
    // SAFETY: see the implementation; what the command names is one page, which outlives the call.
    let status = unsafe { ioctl::ioctl(controller, NvmeAdmin(&mut command)) }?;
    let status = u16::try_from(status).map_err(|_| Errno::IO)?;
    Ok(if status == 0 { Ok(page) } else { Err(status) })
}

/// `struct mount_attr`, first version.
#[repr(C)]
#[derive(Debug)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// The same on every architecture that Linux knows, but Alpha.
const MOUNT_SETATTR: c_long = 442;
const AT_EMPTY_PATH: c_uint = 0x1000;
const MOUNT_ATTRIBUTE_READ_ONLY: u64 = 1;

#[allow(unsafe_code, reason = "the C library's own symbols; the standard library links it anyway")]
// SAFETY: declared as in the C library.
unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// Makes one mount read-only or writable, attached or not. The descriptor is of its root.
pub(crate) fn set_access(root: impl AsFd, access: Access) -> rustix::io::Result<()> {
    let flag = |wanted: bool| if wanted { MOUNT_ATTRIBUTE_READ_ONLY } else { 0 };
    let read_only = access == Access::ReadOnly;
    set_attributes(root, flag(read_only), flag(!read_only))
}

/// Forbids on one mount what the flags say, attached or not. The descriptor is of its root.
pub(crate) fn forbid(root: impl AsFd, flags: MountAttrFlags) -> rustix::io::Result<()> {
    set_attributes(root, u64::from(flags.bits()), 0)
}

#[allow(unsafe_code, reason = "rustix does not have mount_setattr")]
fn set_attributes(root: impl AsFd, set: u64, clear: u64) -> rustix::io::Result<()> {
    let attributes = MountAttributes { set, clear, propagation: 0, user_namespace: 0 };
    // SAFETY: the call reads an empty C string and one `mount_attr` of the size that it is told.
    let result = unsafe {
        syscall(
            MOUNT_SETATTR,
            root.as_fd().as_raw_fd(),
            c"".as_ptr(),
            AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}
