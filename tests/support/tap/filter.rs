//! The system calls that are asked about: a filter on a thread and all that it will start, and the
//! listener that hears of each before it is done. It decides nothing.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_long, sock_filter, sock_fprog};

/// Calls that change something whatever their arguments are, or whose arguments lie in memory.
const ASKED: &[c_long] = &[
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_copy_file_range,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_openat2,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_sendto,
    libc::SYS_execve,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsconfig,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
];

/// Flags with which opening changes something: `O_CREAT`, `O_TRUNC`, the bit of `O_TMPFILE`.
pub(super) const MAKING: u32 = 0o100 | 0o1000 | 0o20_000_000;

/// What devices and file systems are told to do, and its name.
pub(super) const CONTROLS: &[(u32, &str)] = &[
    (0x4004_9409, "FICLONE"),
    (0xC004_5877, "FIFREEZE"),
    (0xC004_5878, "FITHAW"),
    (0xC018_5879, "FITRIM"),
    (0x4C00, "LOOP_SET_FD"),
    (0x4C01, "LOOP_CLR_FD"),
    (0x4C04, "LOOP_SET_STATUS64"),
    (0x4C07, "LOOP_SET_CAPACITY"),
    (0x4C0A, "LOOP_CONFIGURE"),
];

/// Where the filter finds the number and, in their lower halves, the arguments of a call.
const NUMBER: u32 = 0;
const SECOND: u32 = 16 + 8;
const THIRD: u32 = 16 + 16;

/// A call that waits for its decision.
#[derive(Debug)]
pub(super) struct Asked {
    id: u64,
    pub(super) thread: u32,
    pub(super) call: c_long,
    pub(super) arguments: [u64; 6],
}

/// Filters this thread from now on; gives the listener.
#[allow(unsafe_code, reason = "no crate offers seccomp with a listener")]
pub(super) fn install() -> io::Result<OwnedFd> {
    let mut rules = program();
    let length = u16::try_from(rules.len()).expect("the filter is short");
    let program = sock_fprog { len: length, filter: rules.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which lives until the call returns.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    match i32::try_from(listener) {
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(listener) if listener >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(listener) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The next call; an error when its thread is gone already.
#[allow(unsafe_code, reason = "no crate offers seccomp with a listener")]
pub(super) fn receive(listener: BorrowedFd<'_>) -> io::Result<Asked> {
    // SAFETY: all zeros is what the kernel demands of this plain record.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the record is what this request writes to.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let call = c_long::from(asked.data.nr);
    Ok(Asked { id: asked.id, thread: asked.pid, call, arguments: asked.data.args })
}

/// Lets a call be done. If its thread was killed there is nobody to tell.
#[allow(unsafe_code, reason = "no crate offers seccomp with a listener")]
pub(super) fn let_go(listener: BorrowedFd<'_>, asked: &Asked) {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).expect("it is one bit");
    let answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags };
    // SAFETY: the record is what this request reads.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
}

/// Asks about the listed calls, about opening that makes something, and about the listed controls.
fn program() -> Vec<sock_filter> {
    // Everything that is asked about jumps to the last instruction; what reaches the last but one is
    // let through.
    let length = ASKED.len() + CONTROLS.len() + 9;
    let mut rules = Vec::with_capacity(length);
    let to_last = |rules: &Vec<sock_filter>| u8::try_from(length - 2 - rules.len()).expect("the filter is short");
    let load = |offset| rule(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let equal = |number: u32, yes, no| rule(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, yes, no, number);
    let number = |call: c_long| u32::try_from(call).expect("numbers of calls are small");
    rules.push(load(NUMBER));
    for call in ASKED {
        rules.push(equal(number(*call), to_last(&rules), 0));
    }
    rules.push(equal(number(libc::SYS_openat), 0, 3));
    rules.push(load(THIRD));
    rules.push(rule(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, to_last(&rules), 0, MAKING));
    rules.push(rule(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let to_allow = to_last(&rules) - 1;
    rules.push(equal(number(libc::SYS_ioctl), 0, to_allow));
    rules.push(load(SECOND));
    for (control, _) in CONTROLS {
        rules.push(equal(*control, to_last(&rules), 0));
    }
    rules.push(rule(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    rules.push(rule(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
    assert_eq!(rules.len(), length, "the jumps go to the last instruction");
    rules
}

fn rule(code: u32, yes: u8, no: u8, k: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).expect("codes are small"), jt: yes, jf: no, k }
}
