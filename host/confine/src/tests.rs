//! Confined processes from inside: this test binary started anew, told by a variable what to become, tries what
//! must be refused and what must still work. Each says what it found, line by line; the first run of every
//! attempt is made unconfined, so that a refusal is known to come from the confinement.

use std::fmt::Write as _;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, getppid, getrlimit, prlimit};
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use super::*;

const VARIABLE: &str = "DRIVEBAY_TEST_CONFINED";

/// Runs one of the entries below in a process of its own; gives what it said.
fn run(entry: &str, directory: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("tests::{entry}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn directory() -> Option<std::path::PathBuf> {
    std::env::var_os(VARIABLE).map(Into::into)
}

/// Everything that is tried, with what became of it.
fn attempts(directory: &Path) -> Vec<(&'static str, bool)> {
    let in_directory = |name: &str| directory.join(name);
    let program = in_directory("program");
    // Through the shell, which is forked: nothing here holds the file open for writing.
    let copied = Command::new("/bin/cp").arg("/bin/true").arg(&program).status();
    let outside = Path::new("/etc/drivebay-test-confined");
    let tried = vec![
        ("mount", matches!(guests::try_to_mount(), Attempt::Possible)),
        ("namespace", unshare()),
        ("device", mknodat(CWD, in_directory("device"), FileType::CharacterDevice, Mode::RWXU, 0x0103).is_ok()),
        ("system file", std::fs::write(outside, b"x").is_ok()),
        ("own file", std::fs::write(in_directory("file"), b"x").is_ok()),
        ("renaming", renames(directory)),
        ("thread", std::thread::spawn(|| ()).join().is_ok()),
        ("system program", Command::new("/bin/true").status().is_ok_and(|status| status.success())),
        ("itself", Command::new("/proc/self/exe").arg("--list").output().is_ok_and(|out| out.status.success())),
        ("own program", copied.is_ok_and(|status| status.success()) && Command::new(&program).status().is_ok()),
        ("socket", std::os::unix::net::UnixListener::bind(in_directory("socket")).is_ok()),
        ("other port", std::net::TcpListener::bind("127.0.0.1:39911").is_ok()),
        ("other numbers", other_numbers()),
        ("others' limits", prlimit(getppid(), Resource::Core, getrlimit(Resource::Core)).is_ok()),
        ("others' processors", sched_setaffinity(getppid(), &sched_getaffinity(None).unwrap()).is_ok()),
        ("own processors", sched_setaffinity(None, &sched_getaffinity(None).unwrap()).is_ok()),
        ("any port", std::net::TcpListener::bind("127.0.0.1:0").is_ok()),
    ];
    for name in ["device", "file", "socket", "program"] {
        let _ = std::fs::remove_file(in_directory(name));
    }
    let _ = std::fs::remove_file(outside);
    tried
}

/// Whether a call is let through by the number that it has for programs with pointers of 32 bits: most kernels have no
/// such numbers, and say so.
#[allow(unsafe_code, reason = "no crate makes calls by such numbers")]
fn other_numbers() -> bool {
    // SAFETY: by either number it asks for the process' own id.
    let answer = unsafe { libc::syscall(libc::SYS_getpid | 0x4000_0000) };
    answer >= 0 || io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS)
}

/// In a thread that ends with it: a namespace of its own must not stay.
fn unshare() -> bool {
    let flags = rustix::thread::UnshareFlags::NEWUTS;
    // SAFETY: the name of the machine is nothing that this process shares with itself.
    #[allow(unsafe_code, reason = "the call is unsafe for other flags")]
    std::thread::spawn(move || unsafe { rustix::thread::unshare_unsafe(flags) }.is_ok()).join().unwrap()
}

fn renames(directory: &Path) -> bool {
    let (from, to) = (directory.join("from"), directory.join("to"));
    let made = std::fs::create_dir_all(&from).and_then(|()| std::fs::create_dir_all(&to));
    let renamed = made
        .and_then(|()| std::fs::write(from.join("f"), b"x"))
        .and_then(|()| std::fs::rename(from.join("f"), to.join("f")))
        .is_ok();
    let _ = std::fs::remove_dir_all(from).and_then(|()| std::fs::remove_dir_all(to));
    renamed
}

fn told(attempts: &[(&str, bool)]) -> String {
    attempts.iter().fold(String::new(), |mut all, (name, done)| {
        writeln!(all, "tried {name}: {}", if *done { "possible" } else { "refused" }).unwrap();
        all
    })
}

#[test]
fn unconfined_entry() {
    let Some(directory) = directory() else { return };
    print!("{}", told(&attempts(&directory)));
}

#[test]
fn guests_entry() {
    let Some(directory) = directory() else { return };
    let in_force = guests(&Given { writable: vec![directory.clone()], port: Some(0) }).unwrap();
    println!("{in_force:?}");
    print!("{}", told(&attempts(&directory)));
    println!("allows granted {}", in_force.allows_writing(&directory.join("not/yet/there")));
    println!("allows system {}", in_force.allows_writing(Path::new("/usr/lib")));
    // All threads that are started from now on are as this one.
    let status = std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/status").unwrap()).join().unwrap();
    print!("{status}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn what_runs_guests_can_do_its_work_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let said = run("guests_entry", place.path());
    let refused = ["mount", "namespace", "device", "system file", "own program", "other port", "other numbers"];
    for name in refused.into_iter().chain(["others' limits", "others' processors"]) {
        assert!(said.contains(&format!("tried {name}: refused")), "{name}:\n{said}");
    }
    for name in ["own file", "renaming", "thread", "system program", "itself", "socket", "any port", "own processors"] {
        assert!(said.contains(&format!("tried {name}: possible")), "{name}:\n{said}");
    }
    assert!(said.contains("allows granted true") && said.contains("allows system false"), "{said}");
    assert!(said.contains("NoNewPrivs:\t1") && said.contains("Seccomp:\t2"), "{said}");
    assert!(said.contains("CapInh:\t0000000000000000"), "{said}");
    let kept = if is_root() { "000000000000000a" } else { "0000000000000000" };
    assert!(said.contains(&format!("CapEff:\t{kept}")) && said.contains(&format!("CapPrm:\t{kept}")), "{said}");
    if is_root() {
        assert!(said.contains(&format!("CapBnd:\t{kept}")), "{said}");
    }

    // Not confined, the same attempts go well, but for what takes root.
    let said = run("unconfined_entry", place.path());
    for name in ["own program", "other port", "other numbers", "others' processors"] {
        assert!(said.contains(&format!("tried {name}: possible")), "{name}:\n{said}");
    }
    if is_root() {
        for name in ["mount", "namespace", "system file", "others' limits"] {
            assert!(said.contains(&format!("tried {name}: possible")), "{name}:\n{said}");
        }
    }
}

#[test]
fn compiler_entry() {
    let Some(directory) = directory() else { return };
    let pipe = rustix::pipe::pipe().unwrap();
    let (parent, own) = (getppid().unwrap(), getrlimit(Resource::Core));
    // As long as nothing is given up.
    assert!(!is_root() || prlimit(Some(parent), Resource::Core, own).is_ok());
    compiler(Bounds { memory: 256 << 20, cpu: 60, output: 1 << 20 }).unwrap();
    let tried = [
        ("read", std::fs::read("/etc/hostname").is_ok() || std::fs::read_dir("/").is_ok()),
        ("write", std::fs::write(directory.join("file"), b"x").is_ok()),
        (
            "socket",
            rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None).is_ok(),
        ),
        (
            "network",
            std::net::TcpStream::connect("127.0.0.1:1").is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused),
        ),
        ("program", Command::new("/bin/true").status().is_ok()),
        ("others' limits", prlimit(Some(parent), Resource::Core, own).is_ok()),
        ("others' ends", rustix::process::test_kill_process(parent).is_ok()),
        ("own limits", getrlimit(Resource::Core).maximum == Some(0)),
        ("memory", reserve(512 << 20)),
        ("a little memory", reserve(64 << 20)),
        ("thread", std::thread::spawn(|| ()).join().is_ok()),
        ("descriptor", rustix::io::write(&pipe.1, b"x").is_ok() && pipe.0.as_raw_fd() >= 0),
    ];
    print!("{}", told(&tried));
}

fn reserve(bytes: usize) -> bool {
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(bytes).is_ok_and(|()| {
        memory.resize(bytes, 1);
        std::hint::black_box(&memory).len() == bytes
    })
}

#[test]
fn what_compiles_can_compute_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let said = run("compiler_entry", place.path());
    for name in ["read", "write", "socket", "network", "program", "memory", "others' limits", "others' ends"] {
        assert!(said.contains(&format!("tried {name}: refused")), "{name}:\n{said}");
    }
    for name in ["a little memory", "thread", "descriptor", "own limits"] {
        assert!(said.contains(&format!("tried {name}: possible")), "{name}:\n{said}");
    }
}
