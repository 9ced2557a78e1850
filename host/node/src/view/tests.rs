//! Views from inside: a thread of this test enters the namespace and looks. Root's, because it mounts.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::*;
use crate::visible::Visibility;

/// Does something in a namespace, with its root as the root.
fn inside<T: Send + 'static>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> T + Send + 'static) -> T {
    let namespace = namespace.try_clone_to_owned().unwrap();
    let entered = std::thread::spawn(move || {
        // SAFETY: the table of descriptors stays shared.
        #[allow(unsafe_code, reason = "the call is unsafe for other flags")]
        let left = unsafe { unshare_unsafe(UnshareFlags::FS) };
        left.unwrap();
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount)).unwrap();
        work()
    });
    entered.join().unwrap()
}

/// A directory for a test; what is mounted in it is taken away.
struct Scene {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = unmount(self.root.join("pool/later"), UnmountFlags::DETACH);
        let _ = unmount(self.root.join("pool"), UnmountFlags::DETACH);
    }
}

impl Scene {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            // Past the test harness, which keeps what a passing test prints to itself.
            let _ = writeln!(std::io::stderr(), "skipped: views need root");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["aside", "pool", "shared", "beside", "vendor", "state", "configuration"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["pool/a", "shared/a", "beside/secret", "vendor/a.wasm", "vendor/key", "configuration/host"] {
            fs::write(root.join(name), name).unwrap();
        }
        Some(Self { root, _directory: directory })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn visible(&self, rows: &[(&str, Visibility)]) -> Vec<Visible> {
        rows.iter().map(|(name, how)| Visible { path: self.at(name), how: *how }).collect()
    }

    fn view(&self, rows: &[(&str, Visibility)]) -> View {
        View::make(&self.at("aside"), self.visible(rows)).unwrap()
    }
}

fn reads(view: &View, path: &Path) -> Option<String> {
    let path = path.to_owned();
    inside(view.namespace(), move || fs::read_to_string(path).ok())
}

/// How many mounts there are for whoever is in no view, but for those of tests that run beside this one.
fn mounts(scene: &Scene) -> usize {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4).map(Path::new));
    points.filter(|point| point.starts_with(&scene.root) || !point.starts_with(std::env::temp_dir())).count()
}

#[test]
fn nothing_is_seen_but_what_is_shown() {
    let Some(scene) = Scene::new() else { return };
    let before = mounts(&scene);
    let rows = [("pool", Visibility::Write), ("shared", Visibility::Read), ("vendor/a.wasm", Visibility::Alone)];
    let view = scene.view(&rows);
    assert_eq!(mounts(&scene), before, "the system's own mounts stay as they are");
    for (name, seen) in [("pool/a", true), ("shared/a", true), ("vendor/a.wasm", true), ("vendor/key", false)] {
        assert_eq!(reads(&view, &scene.at(name)).is_some(), seen, "{name}");
    }
    let root = scene.root.clone();
    inside(view.namespace(), move || {
        for absent in ["/etc/shadow", "/etc/passwd", "/proc/sys", "/proc/kcore", "/sys/kernel", "/dev/shm"] {
            assert!(!Path::new(absent).exists(), "{absent}");
        }
        assert!(!root.join("beside").exists());
        for empty in ["/root", "/home", "/run", "/mnt"] {
            assert_eq!(fs::read_dir(empty).map_or(0, Iterator::count), 0, "{empty}");
        }
        for there in ["/usr/bin", "/proc/self/exe", "/dev/null", "/sys/block"] {
            assert!(fs::exists(there).unwrap(), "{there}");
        }
        fs::write("/dev/null", "x").unwrap();
        fs::write(root.join("pool/b"), "x").unwrap();
        let files = ["shared/b", "vendor/a.wasm", "new", "aside/b"].map(|name| root.join(name));
        for refused in files.into_iter().chain(["/x", "/usr/x", "/etc/x", "/proc/self/comm"].map(PathBuf::from)) {
            assert!(fs::write(&refused, "x").is_err(), "{}", refused.display());
        }
        assert!(Command::new("/bin/true").status().unwrap().success(), "programs find their libraries");
    });
    assert_eq!(fs::read_to_string(scene.at("pool/b")).unwrap(), "x");
    drop(view);
    assert_eq!(mounts(&scene), before);
}

#[test]
fn what_takes_a_place_is_shown_in_it() {
    let Some(scene) = Scene::new() else { return };
    let mut view = scene.view(&[("pool", Visibility::Write), ("vendor/a.wasm", Visibility::Alone)]);
    // A file, as editors replace it.
    fs::write(scene.at("vendor/part"), "new").unwrap();
    fs::rename(scene.at("vendor/part"), scene.at("vendor/a.wasm")).unwrap();
    assert_eq!(reads(&view, &scene.at("vendor/a.wasm")).as_deref(), Some("vendor/a.wasm"));
    view.follow();
    assert_eq!(reads(&view, &scene.at("vendor/a.wasm")).as_deref(), Some("new"));
    // A directory that goes and comes back.
    fs::rename(scene.at("pool"), scene.at("elsewhere")).unwrap();
    view.follow();
    assert_eq!(reads(&view, &scene.at("pool/a")), None);
    fs::rename(scene.at("elsewhere"), scene.at("pool")).unwrap();
    view.follow();
    assert!(reads(&view, &scene.at("pool/a")).is_some());
    // A file system at the directory, and away again.
    mount("tmpfs", scene.at("pool"), "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(scene.at("pool/mounted"), "x").unwrap();
    view.follow();
    assert_eq!(reads(&view, &scene.at("pool/mounted")).as_deref(), Some("x"));
    assert_eq!(reads(&view, &scene.at("pool/a")), None);
    unmount(scene.at("pool"), UnmountFlags::empty()).unwrap();
    view.follow();
    assert_eq!(reads(&view, &scene.at("pool/mounted")), None);
    assert!(reads(&view, &scene.at("pool/a")).is_some());
}

/// What the host could write it could forge, or put another one in its place.
#[test]
fn what_is_hidden_is_neither_seen_nor_replaced() {
    let Some(scene) = Scene::new() else { return };
    fs::create_dir_all(scene.at("pool/deep/state/node")).unwrap();
    fs::write(scene.at("pool/deep/state/node/ledger"), "x").unwrap();
    let rows = [
        ("pool", Visibility::Write),
        ("pool/deep/state", Visibility::Own),
        ("pool/deep/state/node", Visibility::Hidden),
    ];
    let mut view = scene.view(&rows);
    view.follow();
    let root = scene.root.clone();
    inside(view.namespace(), move || {
        let node = root.join("pool/deep/state/node");
        assert_eq!(fs::read_dir(&node).unwrap().count(), 0);
        assert_eq!(
            fs::write(node.join("ledger"), "forged").unwrap_err().kind(),
            std::io::ErrorKind::ReadOnlyFilesystem
        );
        assert!(fs::remove_dir_all(&node).is_err());
        for held in ["pool/deep/state/node", "pool/deep/state", "pool/deep"] {
            let moved = fs::rename(root.join(held), root.join(held).with_extension("away"));
            assert_eq!(moved.unwrap_err().kind(), std::io::ErrorKind::ResourceBusy, "{held}");
        }
        fs::write(root.join("pool/deep/state/beside"), "x").unwrap();
        fs::rename(root.join("pool/deep/state/beside"), root.join("pool/deep/state/moved")).unwrap();
    });
    assert_eq!(fs::read_to_string(scene.at("pool/deep/state/node/ledger")).unwrap(), "x");
}

/// Whoever looks all the time, by the path and from a directory that it has open, sees it at no moment.
#[test]
fn what_is_hidden_stays_hidden_while_what_is_above_it_changes() {
    let Some(scene) = Scene::new() else { return };
    let fill = || {
        fs::create_dir_all(scene.at("pool/deep/state/node")).unwrap();
        fs::write(scene.at("pool/deep/state/node/ledger"), "x").unwrap();
    };
    fill();
    let rows = [
        ("pool", Visibility::Write),
        ("pool/deep/state", Visibility::Own),
        ("pool/deep/state/node", Visibility::Hidden),
    ];
    let mut view = scene.view(&rows);
    let (stop, root) = (Arc::new(AtomicBool::new(false)), scene.root.clone());
    let (namespace, own) = (view.namespace().try_clone_to_owned().unwrap(), Arc::clone(&stop));
    let looker = std::thread::spawn(move || {
        inside(namespace.as_fd(), move || {
            let held = fs::File::open(root.join("pool/deep/state")).unwrap();
            let ledger = root.join("pool/deep/state/node/ledger");
            let sees = || {
                let flags = rustix::fs::OFlags::RDONLY;
                let opened = rustix::fs::openat(&held, "node/ledger", flags, rustix::fs::Mode::empty());
                opened.is_ok() || ledger.exists()
            };
            let mut times = 0;
            while !own.load(Ordering::SeqCst) {
                times += usize::from(sees());
            }
            times
        })
    });
    for _ in 0..20 {
        mount("tmpfs", scene.at("pool"), "tmpfs", MountFlags::empty(), None).unwrap();
        fill();
        fs::write(scene.at("pool/mounted"), "x").unwrap();
        view.follow();
        assert_eq!(reads(&view, &scene.at("pool/mounted")).as_deref(), Some("x"));
        unmount(scene.at("pool"), UnmountFlags::DETACH).unwrap();
        view.follow();
        assert!(reads(&view, &scene.at("pool/a")).is_some());
        // The directory alone.
        fs::rename(scene.at("pool/deep/state/node"), scene.at("pool/deep/state/old")).unwrap();
        view.follow();
        fs::rename(scene.at("pool/deep/state/old"), scene.at("pool/deep/state/node")).unwrap();
        view.follow();
    }
    stop.store(true, Ordering::SeqCst);
    assert_eq!(looker.join().unwrap(), 0);
    assert!(reads(&view, &scene.at("pool/deep/state/node/ledger")).is_none());
}

/// As systemd has it, and a pod with `HostToContainer`.
#[test]
fn what_is_mounted_later_below_a_shared_mount_is_shown_at_once_and_nothing_goes_the_other_way() {
    let Some(scene) = Scene::new() else { return };
    mount("tmpfs", scene.at("pool"), "tmpfs", MountFlags::empty(), None).unwrap();
    rustix::mount::mount_change(scene.at("pool"), rustix::mount::MountPropagationFlags::SHARED).unwrap();
    fs::create_dir(scene.at("pool/later")).unwrap();
    let view = scene.view(&[("pool", Visibility::Write)]);
    mount("tmpfs", scene.at("pool/later"), "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(scene.at("pool/later/x"), "x").unwrap();
    assert_eq!(reads(&view, &scene.at("pool/later/x")).as_deref(), Some("x"));
    unmount(scene.at("pool/later"), UnmountFlags::empty()).unwrap();
    assert_eq!(reads(&view, &scene.at("pool/later/x")), None);
    let (before, later) = (mounts(&scene), scene.at("pool/later"));
    inside(view.namespace(), move || mount("tmpfs", later, "tmpfs", MountFlags::empty(), None).unwrap());
    assert_eq!(mounts(&scene), before);
}

/// A configuration for tests: a path a line.
fn read(_name: &str, text: &str) -> Result<Vec<Visible>, String> {
    let path =
        |line: &str| line.starts_with('/').then(|| PathBuf::from(line)).ok_or_else(|| format!("no path: {line}"));
    text.lines().map(|line| Ok(Visible { path: path(line)?, how: Visibility::Write })).collect()
}

#[test]
fn what_is_shown_later_stands_in_the_operators_file() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.at("configuration/host");
    let grant = |names: &[&str], mode: u32| {
        let lines: Vec<_> = names.iter().map(|name| scene.at(name).display().to_string()).collect();
        fs::write(&file, lines.join("\n")).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    };
    grant(&["pool"], 0o644);
    let at_first = scene.visible(&[("pool", Visibility::Write), ("state", Visibility::Own)]);
    let live = LiveView::new(scene.at("state"), Some(file.clone()), at_first, read);
    let (_, namespace) = live.show().unwrap();
    let namespace = namespace.expect("the first time it is told");
    let sees = |name: &str| {
        let path = scene.at(name);
        inside(namespace.as_fd(), move || path.exists())
    };
    assert!(sees("pool/a") && !sees("shared/a"));
    grant(&["pool", "shared"], 0o644);
    assert!(live.show().unwrap().1.is_none());
    assert!(sees("pool/a") && sees("shared/a") && !sees("beside/secret"));
    // What others could have written shows nothing; nor does a file where the host writes.
    grant(&["pool", "shared", "beside"], 0o666);
    let refused = live.show().unwrap_err().message;
    assert!(refused.contains("others than its owner may write to it"), "{refused}");
    grant(&["pool", "shared", "configuration"], 0o644);
    live.show().unwrap();
    grant(&["pool", "shared", "configuration", "beside"], 0o644);
    let refused = live.show().unwrap_err().message;
    assert!(refused.contains("where the host writes"), "{refused}");
    assert!(!sees("beside/secret"));
    // What was taken back stays: generations that have it drain, and may come back.
    grant(&["pool"], 0o644);
    live.show().unwrap();
    assert!(sees("shared/a"));
    // Nobody has to ask for what took a place.
    fs::rename(scene.at("pool"), scene.at("gone")).unwrap();
    let begin = Instant::now();
    while sees("pool/a") {
        assert!(begin.elapsed() < Duration::from_secs(30), "it is followed");
        std::thread::yield_now();
    }
}

#[test]
fn the_operators_links_lead_where_they_lead_outside() {
    let Some(scene) = Scene::new() else { return };
    symlink("pool", scene.at("link")).unwrap();
    let mut view = scene.view(&[("link", Visibility::Write)]);
    assert!(reads(&view, &scene.at("link/a")).is_some());
    fs::remove_file(scene.at("link")).unwrap();
    symlink("shared", scene.at("link")).unwrap();
    view.follow();
    assert_eq!(reads(&view, &scene.at("link/a")).as_deref(), Some("shared/a"));
}

/// A grant of everything, or a socket in the root.
#[test]
fn all_of_the_machine_is_no_view() {
    let Some(scene) = Scene::new() else { return };
    let everything = vec![Visible { path: PathBuf::from("/"), how: Visibility::Write }];
    let refused = View::make(&scene.at("aside"), everything.clone()).unwrap_err().message;
    assert!(refused.contains("cannot be shown all of /"), "{refused}");
    let mut view = scene.view(&[("pool", Visibility::Write)]);
    assert_eq!(view.show(everything).unwrap(), ["all of /"]);
    assert!(reads(&view, &scene.at("pool/a")).is_some(), "all else stays");
}
