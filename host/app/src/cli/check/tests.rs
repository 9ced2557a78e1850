//! Tests of the words of `check`. What it finds in components is in `tests/check.rs`, with the real program.

use super::places;
use super::report::{ComponentReport, Report};
use drivebay_files::Programs;
use drivebay_policy::grants::attach::{AttachGrant, NfsGrant, NvmeTcpGrant};

/// One directory with some of the programs in it, as on a machine where not everything is installed.
#[test]
fn programs_that_are_not_installed_are_named_with_what_to_install() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let install = |names: &[&str]| {
        for name in names {
            std::fs::write(place.path().join(name), "").unwrap();
            std::fs::set_permissions(place.path().join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
    };
    let programs = Programs::new(vec![place.path().to_owned()]);
    let imports = |name: &str| ["wasi:io/error@0.2.6".to_owned(), name.to_owned()];
    let lacking = |import: &str| places::programs(&imports(import), &[], &programs);
    install(&["mkfs.ext4", "e2fsck", "resize2fs", "tune2fs", "mkfs.btrfs", "btrfs"]);
    for import in ["drivebay:host/files@0.1.0", "drivebay:host/mounts@0.1.0"] {
        let found = lacking(import);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("mkfs.xfs, xfs_db, xfs_growfs are not installed"), "{found:?}");
        assert!(found[0].ends_with("install xfsprogs"), "{found:?}");
        assert!(found[1].starts_with("btrfstune is not installed") && found[1].ends_with("btrfs-progs"), "{found:?}");
    }
    assert_eq!(lacking("drivebay:host/state@0.1.0"), [""; 0], "it does not work on files");
    install(&["mkfs.xfs", "xfs_db", "xfs_growfs", "btrfstune"]);
    assert_eq!(lacking("drivebay:host/files@0.1.0"), [""; 0]);
    let found = lacking("drivebay:host/attach@0.1.0");
    assert!(found.len() == 5 && found[0].contains("mount.nfs") && found[0].contains("nfs-common"), "{found:?}");
    assert!(found[1].contains("iscsiadm") && found[2].contains("multipath-tools"), "{found:?}");
    assert!(found[3].contains("cryptsetup") && found[4].contains("dmsetup"), "{found:?}");
    let nfs = AttachGrant::Nfs(NfsGrant { servers: Vec::new(), export: "/".to_owned() });
    let found = places::programs(&imports("drivebay:host/attach@0.1.0"), &[nfs], &programs);
    assert!(found.len() == 1 && found[0].contains("mount.nfs"), "{found:?}");
    install(&["mount.nfs", "iscsiadm", "multipathd", "cryptsetup", "dmsetup"]);
    assert_eq!(lacking("drivebay:host/attach@0.1.0"), [""; 0]);
}

#[test]
fn what_the_kernel_lacks_is_named_with_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let nvme = AttachGrant::NvmeTcp(NvmeTcpGrant { portals: Vec::new(), nqn: "nqn.2026-11.example:*".to_owned() });
    assert_eq!(places::kernel(&[], root.path()), [""; 0], "it is not granted");
    let found = places::kernel(std::slice::from_ref(&nvme), root.path());
    assert!(found.len() == 2 && found[0].contains("modprobe nvme_tcp") && found[1].contains("hostnqn"), "{found:?}");
    for directory in ["dev", "etc/nvme"] {
        std::fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    std::fs::write(root.path().join("dev/nvme-fabrics"), "").unwrap();
    std::fs::write(root.path().join("etc/nvme/hostnqn"), "nqn.2014-08.example").unwrap();
    assert_eq!(places::kernel(&[nvme], root.path()), [""; 0]);
}

#[test]
fn the_table_names_what_json_names() {
    let report = Report::Component(Box::new(ComponentReport {
        interfaces: vec!["drivebay:backend/volumes@0.1.0".to_owned(), "drivebay:backend/volumes@0.2.0".to_owned()],
        imports: vec!["wasi:io/error@0.2.6".to_owned(), "wasi:io/poll@0.2.6".to_owned()],
        problems: vec!["first\nsecond".to_owned()],
        ..ComponentReport::of("x.wasm".to_owned())
    }));
    let text = report.text();
    assert!(text.contains("interfaces        volumes drivebay:backend/volumes@0.2.0\n"), "{text}");
    assert!(text.contains("imports           wasi:io\n"), "{text}");
    assert!(text.contains("PROBLEM           first\n                  second\n"), "{text}");
    assert!(text.ends_with("\nThis would be rejected.\n"), "{text}");
}
