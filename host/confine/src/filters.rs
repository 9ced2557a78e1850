//! Filters of system calls. Owns the two lists: what a process that compiles may call and nothing else, and
//! what a process that runs guests may not call. Why a list of what is forbidden there: the runtime, the
//! engine and the C library may begin to use another call with any update, and a host that breaks then is no
//! safer. A call that is refused fails with EPERM and kills nothing.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::Force;

#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Failed = Box<dyn std::error::Error>;

/// Everything that compiling takes once its input is there: memory, threads, its descriptors, and its end.
const COMPILING: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_sysinfo,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What nothing that a host does for guests can need.
const FORBIDDEN: &[i64] = &[
    // File systems and what is mounted: the helper's work.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_open_by_handle_at,
    // Other namespaces and other processes.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // The kernel itself, and parts of it where most of its flaws were found.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// What is allowed on oneself alone, by its first argument, 0: processes of the same user are none of a host's business.
const ON_ITSELF: [i64; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Flags of `clone` that make namespaces: time, control group, host name, messages, users, processes, network, mounts.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Lets this process do nothing but compute, until its end.
pub(super) fn for_compiling() -> Force {
    let thread = u64::try_from(libc::CLONE_THREAD).unwrap_or_default();
    let rules = || -> Result<Rules, Failed> {
        let mut rules = of(COMPILING);
        // A thread, never a process.
        rules.insert(libc::SYS_clone, vec![flag(thread)?]);
        // Its own limits, and itself: its user's other processes are none of its business.
        rules.insert(libc::SYS_prlimit64, vec![first(Op::Eq, 0)?]);
        rules.insert(libc::SYS_tgkill, vec![first(Op::Eq, std::process::id())?]);
        Ok(rules)
    };
    in_force(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM))
}

/// Takes from this process what it does not need.
pub(super) fn for_guests() -> Force {
    let rules = || -> Result<Rules, Failed> {
        let mut rules = of(FORBIDDEN);
        let flags = NAMESPACES.iter().map(|bit| flag(u64::try_from(*bit).unwrap_or_default()));
        rules.insert(libc::SYS_clone, flags.collect::<Result<_, _>>()?);
        for call in ON_ITSELF {
            rules.insert(call, vec![first(Op::Ne, 0)?]);
        }
        Ok(rules)
    };
    in_force(rules, SeccompAction::Errno(EPERM), SeccompAction::Allow)
}

const EPERM: u32 = libc::EPERM.unsigned_abs();
const ENOSYS: u32 = libc::ENOSYS.unsigned_abs();

/// A filter cannot see what `clone3` is asked for. Told that there is none, the C library uses `clone`, whose
/// flags it can see.
fn without_clone3() -> Result<(), Failed> {
    install(of(&[libc::SYS_clone3]), SeccompAction::Errno(ENOSYS), SeccompAction::Allow)
}

/// A kernel may know every call by a second number, for programs with pointers of 32 bits, which no list names.
#[cfg(target_arch = "x86_64")]
fn without_other_numbers() -> Result<(), Failed> {
    /// Of a number of that kind (`__X32_SYSCALL_BIT`).
    const BIT: u32 = 0x4000_0000;
    let one = |code: u32, jf: u8, k: u32| Ok::<_, Failed>(sock_filter { code: u16::try_from(code)?, jt: 0, jf, k });
    seccompiler::apply_filter(&[
        // The number is the first word of what a filter sees.
        one(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)?,
        one(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 1, BIT)?,
        one(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | EPERM)?,
        one(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW)?,
    ])?;
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
#[expect(clippy::unnecessary_wraps, reason = "it is fallible elsewhere")]
const fn without_other_numbers() -> Result<(), Failed> {
    Ok(())
}

fn of(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// Holds when this bit of the first argument is set.
fn flag(bit: u64) -> Result<SeccompRule, Failed> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, Width::Qword, Op::MaskedEq(bit), bit)?])?)
}

/// Holds when the first argument is this number, or is not.
fn first(is: Op, number: u32) -> Result<SeccompRule, Failed> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, Width::Dword, is, number.into())?])?)
}

fn install(rules: Rules, listed: SeccompAction, all_else: SeccompAction) -> Result<(), Failed> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let program: BpfProgram = SeccompFilter::new(rules, all_else, listed, arch)?.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}

/// Installs a list, behind what no list of numbers sees.
fn in_force(rules: impl FnOnce() -> Result<Rules, Failed>, listed: SeccompAction, all_else: SeccompAction) -> Force {
    let installed =
        without_clone3().and_then(|()| without_other_numbers()).and_then(|()| install(rules()?, listed, all_else));
    match installed {
        Ok(()) => Force::Full,
        Err(error) => Force::None(error.to_string()),
    }
}
