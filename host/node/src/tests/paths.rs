//! Which paths are let through: images and directories beneath grants, host paths of the call.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::harness::{BACKEND, MIB, PERMISSIONS, Site, call, code, is_mount, is_root, request, run, wait, with};
use crate::{Access, BindSource, DirectoryGrant, ErrorCode, PathRole, Permissions};

use ErrorCode::{Invalid, NotAllowed, NotFound};

#[test]
fn images_outside_of_the_grants_are_refused() {
    let site = Site::new();
    let pool = site.path("pool");
    File::create(site.path("outside.img")).unwrap().set_len(MIB).unwrap();
    File::create(pool.join("plain.img")).unwrap().set_len(MIB).unwrap();
    fs::create_dir(pool.join("directory")).unwrap();
    symlink("../outside.img", pool.join("link.img")).unwrap();
    symlink("plain.img", pool.join("inner-link.img")).unwrap();
    symlink("/", pool.join("root")).unwrap();
    run("mkfifo", &[pool.join("pipe").to_str().unwrap()]);
    let cases = [
        ("/pool/../outside.img", NotAllowed),
        ("/pool/./plain.img", NotAllowed),
        ("/pool//plain.img", NotAllowed),
        ("/pool/", NotAllowed),
        ("/pool", NotAllowed),
        ("/pooling/plain.img", NotAllowed),
        ("pool/plain.img", NotAllowed),
        ("/elsewhere/plain.img", NotAllowed),
        ("/pool/link.img", NotAllowed),
        ("/pool/inner-link.img", NotAllowed),
        ("/pool/root/etc/passwd", NotAllowed),
        ("/frozen-pool/plain.img", NotAllowed),
        ("/pool/missing.img", NotFound),
        ("/pool/plain.img/below", NotFound),
        ("/pool/directory", Invalid),
        ("/pool/pipe", Invalid),
    ];
    for (image, expected) in cases {
        let attached = wait(site.node.attach_image(&call("c", &[]), "v", image, Access::ReadWrite));
        assert_eq!(code(attached), expected, "{image}");
    }
    site.assert_clean();
}

#[test]
fn host_paths_must_be_those_of_the_call() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let image = site.image("v.img", "ext4");
    let staging = site.staging("staging");
    let caller = call("c", &[(PathRole::Staging, &staging)]);
    wait(site.node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
    let other = site.staging("other");
    for path in [other.as_str(), "relative", "/", "", &format!("{staging}/"), &format!("{staging}/../other")] {
        let mounted = wait(site.node.mount_device(&caller, request("v", path, "ext4")));
        assert_eq!(code(mounted), NotAllowed, "{path}");
        assert_eq!(code(wait(site.node.unmount(&caller, "v", path))), NotAllowed, "{path}");
        assert_eq!(code(wait(site.node.get_usage(&caller, "v", path))), NotAllowed, "{path}");
    }
    // Even a path of the call is refused when it is not plain, or longer than the kernel takes.
    let crooked = [format!("{staging}/../other"), format!("/{}", "x/".repeat(2050) + "x")];
    for path in &crooked {
        let caller = with(&caller, PathRole::Target, path);
        let mounted = wait(site.node.mount_device(&caller, request("v", path, "ext4")));
        assert_eq!(code(mounted), NotAllowed);
    }
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn the_operators_links_to_a_root_are_followed_and_no_others() {
    if !is_root() {
        return;
    }
    let site = Site::rooted(|directory| {
        fs::create_dir(directory.join("disk")).unwrap();
        symlink("disk", directory.join("kubelet")).unwrap();
        vec![directory.join("kubelet")]
    });
    let image = site.image("v.img", "ext4");
    fs::create_dir_all(site.path("disk/pod/staging")).unwrap();
    symlink("staging", site.path("disk/pod/link")).unwrap();
    symlink("pod", site.path("disk/way")).unwrap();
    let path = |name: &str| site.path(name).to_str().unwrap().to_owned();
    for link in [path("kubelet/pod/link"), path("kubelet/way/staging"), path("kubelet/way/link")] {
        let caller = call("c", &[(PathRole::Staging, &link)]);
        wait(site.node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
        assert_eq!(code(wait(site.node.mount_device(&caller, request("v", &link, "ext4")))), NotAllowed, "{link}");
    }
    assert!(!is_mount(site.path("disk/pod/staging")));

    let through = path("kubelet/pod/staging");
    let caller = call("c", &[(PathRole::Staging, &through)]);
    for _ in 0..2 {
        wait(site.node.mount_device(&caller, request("v", &through, "ext4"))).unwrap();
    }
    assert!(is_mount(site.path("disk/pod/staging")));
    // The same place by its real name is the same mount.
    let direct = path("disk/pod/staging");
    let caller = call("c", &[(PathRole::Staging, &direct)]);
    wait(site.node.unmount(&caller, "v", &direct)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn volumes_are_mounted_below_the_roots_alone() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let image = site.image("v.img", "ext4");
    fs::create_dir(site.path("elsewhere")).unwrap();
    fs::create_dir(site.path("pool/v")).unwrap();
    let outside = site.path("elsewhere").to_str().unwrap().to_owned();
    let root = site.path("pods").to_str().unwrap().to_owned();
    for path in [outside.as_str(), &root, "/mnt", "/etc/motd"] {
        let caller = call("c", &[(PathRole::Target, path)]);
        wait(site.node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
        let mounted = wait(site.node.mount_device(&caller, request("v", path, "ext4"))).unwrap_err();
        assert!(mounted.code == NotAllowed && mounted.message.contains("`targets` of [host]"), "{mounted}");
        let source = BindSource::Granted("/pool/v".to_owned());
        let bound = wait(site.node.bind(&caller, "v", source, path, Access::ReadWrite));
        assert_eq!(code(bound), NotAllowed, "{path}");
        let shown = wait(site.node.publish_device(&caller, "v", path, Access::ReadWrite));
        assert_eq!(code(shown), NotAllowed, "{path}");
        // Nothing can be there, so a client that undoes what was refused is done.
        assert_eq!(code(wait(site.node.get_usage(&caller, "v", path))), NotFound, "{path}");
        wait(site.node.unmount(&caller, "v", path)).unwrap();
        assert!(fs::exists(&outside).unwrap(), "what is not ours is not removed");
        wait(site.node.detach_image(&caller, "v")).unwrap();
    }
    site.assert_clean();
}

#[test]
fn what_was_mounted_below_another_root_is_not_taken_for_gone() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.acknowledge(&caller, None)).unwrap();
    site.kill();
    let other = crate::Mandate { targets: vec![site.path("elsewhere")], ..site.mandate.clone() };
    let node = crate::Node::start(super::harness::launch(other)).unwrap();
    assert_eq!(wait(node.recover()).unwrap().kept.len(), 2);
    let refused = wait(node.unmount(&caller, "v", &staging)).unwrap_err();
    assert!(refused.code == NotAllowed && refused.message.contains("`targets` of [host]"), "{refused}");
    assert!(is_mount(&staging));
    super::harness::kill(&node);
    wait(node.closed());
    wait(site.node.respawn()).unwrap();
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_granted_directory_is_bound_but_neither_its_root_nor_through_links() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let pool = site.path("pool");
    fs::create_dir(pool.join("v")).unwrap();
    symlink("v", pool.join("link")).unwrap();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let bind = |source: &str, access| {
        let source = BindSource::Granted(source.to_owned());
        wait(site.node.bind(&caller, "v", source, &target, access))
    };
    assert_eq!(code(bind("/pool/link", Access::ReadWrite)), NotAllowed);
    assert_eq!(code(bind("/pool", Access::ReadWrite)), NotAllowed);
    assert_eq!(code(bind("/frozen-pool/v", Access::ReadWrite)), NotAllowed);
    assert!(!fs::exists(&target).unwrap(), "nothing was made for what was refused");
    bind("/pool/v", Access::ReadWrite).unwrap();
    fs::write(format!("{target}/file"), "x").unwrap();
    assert_eq!(fs::read(pool.join("v/file")).unwrap(), b"x");
    // The mount table shows the new name from now on; it is the same directory.
    fs::rename(pool.join("v"), pool.join("renamed")).unwrap();
    bind("/pool/renamed", Access::ReadWrite).unwrap();
    assert_eq!(code(wait(site.node.freeze(&caller, "v"))), ErrorCode::Unsupported);
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    assert!(!fs::exists(&target).unwrap());
    site.assert_clean();
}

#[test]
fn grants_that_could_not_be_resolved_are_refused() {
    let site = Site::new();
    for guest in ["pool", "/pool/", "/../pool", "/"] {
        let grant = DirectoryGrant { host: site.path("pool"), guest: guest.to_owned(), write: true };
        let permissions = Permissions { directories: vec![grant], ..PERMISSIONS };
        site.configure(&[(BACKEND.to_owned(), permissions.clone())].into());
        assert_eq!(code(wait(site.node.permit(BACKEND, &permissions))), Invalid, "{guest}");
    }
}

#[test]
fn a_link_in_the_place_of_a_granted_directory_leads_nowhere() {
    let site = Site::granting(|root| {
        fs::create_dir(root.join("pool/inner")).unwrap();
        let grant =
            |host: &str, guest: &str| DirectoryGrant { host: root.join(host), guest: guest.into(), write: true };
        vec![grant("pool", "/pool"), grant("pool/inner", "/inner")]
    });
    let (outer, inner) = (site.path("pool"), site.path("pool/inner"));
    fs::create_dir(site.path("secret")).unwrap();
    for place in [inner.join("v.img"), site.path("secret/v.img")] {
        File::create(place).unwrap().set_len(MIB).unwrap();
    }
    // What a component that may write in the outer directory can do.
    fs::rename(&inner, outer.join("away")).unwrap();
    symlink("../secret", &inner).unwrap();
    let caller = call("c", &[]);
    let attached = wait(site.node.attach_image(&caller, "v", "/inner/v.img", Access::ReadWrite));
    assert_eq!(code(attached), NotAllowed);
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let source = BindSource::Granted("/inner/v.img".to_owned());
    assert_eq!(code(wait(site.node.bind(&caller, "v", source, &target, Access::ReadWrite))), NotAllowed);
    site.assert_clean();
}

#[test]
fn the_operators_own_links_to_a_granted_directory_are_followed_once() {
    let site = Site::granting(|root| {
        fs::create_dir(root.join("disk")).unwrap();
        symlink("disk", root.join("link")).unwrap();
        vec![DirectoryGrant { host: root.join("link"), guest: "/pool".to_owned(), write: true }]
    });
    File::create(site.path("disk/v.img")).unwrap().set_len(MIB).unwrap();
    let attach = || wait(site.node.attach_image(&call("c", &[]), "v", "/pool/missing.img", Access::ReadWrite));
    // The directory is reached, and what it does not hold is not there.
    assert_eq!(code(attach()), NotFound);
    fs::remove_file(site.path("link")).unwrap();
    symlink("/", site.path("link")).unwrap();
    assert_eq!(code(attach()), NotFound);
    if is_root() {
        let attached = wait(site.node.attach_image(&call("c", &[]), "v", "/pool/v.img", Access::ReadWrite));
        attached.unwrap();
        wait(site.node.detach_image(&call("c", &[]), "v")).unwrap();
    }
    site.assert_clean();
}
