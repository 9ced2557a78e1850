//! A host that was broken into and speaks the helper's protocol freely: it gets nothing that the configuration does not
//! grant. Every request here goes beyond that; each must be refused, or have no effect at all.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use serde_json::{Value, json};

use super::harness::{self, BACKEND, MIB, Site, call, is_mount, is_root, publication, request, run, wait};
use crate::client::Launch;
use crate::{
    Access, Answer, AttachGrant, BindSource, CallPath, Caller, Chap, DhChap, DirectoryGrant, IscsiGrant, IscsiTarget,
    Login, NfsGrant, NfsShare, NvmeTcpGrant, NvmeTcpTarget, Operation, PathRole, Permissions, PortalRange,
    PublicationKind, Request, Secret, Share, Target, frames, sealed,
};

use Access::{ReadOnly, ReadWrite};

/// What a backend of the same host has of its own.
const OTHER: &str = "other";

/// A request by a host that claims whatever it likes of the call under way.
fn free(backend: &str, volumes: &[&str], paths: &[&str], operation: Operation) -> Request {
    let roles = [PathRole::Target, PathRole::Staging, PathRole::Other];
    let claimed = paths.iter().flat_map(|path| roles.map(|role| CallPath { role, path: (*path).to_owned() }));
    let volumes = volumes.iter().map(|volume| (*volume).to_owned()).collect();
    let caller = Caller { backend: backend.to_owned(), call: "free".to_owned(), volumes, paths: claimed.collect() };
    Request { caller, operation }
}

fn attach(volume: &str, image: &str, access: Access) -> Operation {
    Operation::AttachImage { volume: volume.to_owned(), image: image.to_owned(), access }
}

fn bind(source: BindSource, target: &str) -> Operation {
    Operation::Bind { volume: "v".to_owned(), source, target: target.to_owned(), access: ReadWrite }
}

fn granted(path: &str) -> BindSource {
    BindSource::Granted(path.to_owned())
}

fn mount(target: &str, file_system: &str, options: &[&str]) -> Operation {
    Operation::MountDevice {
        volume: "w".to_owned(),
        target: target.to_owned(),
        file_system: file_system.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        access: ReadWrite,
    }
}

/// A share of a server, one of which alone is granted.
fn share(server: &str, export: &str, subdirectory: Option<&str>, option: &str, target: &str) -> Operation {
    Operation::MountShare {
        volume: "v".to_owned(),
        share: Share::Nfs(NfsShare {
            server: server.to_owned(),
            export: export.to_owned(),
            subdirectory: subdirectory.map(str::to_owned),
        }),
        target: target.to_owned(),
        options: vec![option.to_owned()],
        access: ReadWrite,
    }
}

/// What is asked of servers beyond `10.1.0.0/24` and the exports below `/exports`, or in another way than they may be asked.
fn shares_beyond(target: &str) -> Vec<Operation> {
    let (server, export) = ("10.1.0.1", "/exports/a");
    let mut asked: Vec<Operation> = ["10.2.0.1", "127.0.0.1", "localhost", "::1", "", "-o", "10.1.0.1:/exports/a -o"]
        .map(|server| share(server, export, None, "", target))
        .into();
    asked.extend(
        ["/", "/exports", "/exports/", "/exports/../etc", "/exportsx/a", "exports/a", "/exports/a\0"]
            .map(|export| share(server, export, None, "", target)),
    );
    asked.extend(["..", "../b", "/b", "", "b/../../c"].map(|inner| share(server, export, Some(inner), "", target)));
    asked.extend(
        [
            "suid",
            "dev",
            "port=22",
            "addr=10.2.0.1",
            "mountaddr=10.2.0.1",
            "clientaddr=1.2.3.4",
            "context=\"a\",port=22",
        ]
        .map(|option| share(server, export, None, option, target)),
    );
    asked
}

/// A disk of an array, one of which alone is granted.
fn connect(portals: &[&str], iqn: &str, identity: &str, secret: Option<&str>) -> Operation {
    let login = |secret: &str| Login { user: "u".to_owned(), secret: Secret::new(secret.to_owned()) };
    let target = Target::Iscsi(IscsiTarget {
        portals: portals.iter().map(|portal| (*portal).to_owned()).collect(),
        iqn: iqn.to_owned(),
        lun: 0,
        chap: secret.map(|secret| Chap { node: login(secret), target: None }),
    });
    Operation::Connect { volume: "v".to_owned(), target, identity: identity.to_owned(), access: ReadWrite }
}

/// What is asked of arrays beyond `10.1.0.0/24:3260` and the targets of `iqn.2026-11.example:`.
fn disks_beyond() -> Vec<Operation> {
    let (portal, iqn, disk) = ("10.1.0.1:3260", "iqn.2026-11.example:a", "naa.6001405d1eba00000000000000000007");
    let mut asked: Vec<Operation> =
        ["10.2.0.1:3260", "10.1.0.1:22", "127.0.0.1", "localhost:3260", "", "-o", "10.1.0.1:3260 -o", "[::1]:3260"]
            .map(|portal| connect(&[portal], iqn, disk, None))
            .into();
    asked.push(connect(&[portal, "10.2.0.1:3260"], iqn, disk, None));
    asked.push(connect(&[], iqn, disk, None));
    for iqn in ["iqn.2026-12.example:a", "", "iqn.2026-11.example:a/../../x", "iqn.2026-11.example:a\n", "-T"] {
        asked.push(connect(&[portal], iqn, disk, None));
    }
    asked.extend(
        ["", "sda", "/dev/sda", "naa.", "naa.6001405d1eba0000\n"].map(|disk| connect(&[portal], iqn, disk, None)),
    );
    asked.extend(
        ["", "a b", "a\nnode.conn[0].address = 10.2.0.1"].map(|secret| connect(&[portal], iqn, disk, Some(secret))),
    );
    asked.extend(namespaces_beyond());
    asked.push(Operation::MakeFileSystem { volume: "w".to_owned(), file_system: "ext4".to_owned() });
    asked
}

/// The same by NVMe/TCP, beyond `10.1.0.0/24:4420` and the subsystems of `nqn.2026-11.example:`.
fn namespaces_beyond() -> Vec<Operation> {
    let (portal, nqn, disk) = ("10.1.0.1:4420", "nqn.2026-11.example:a", "uuid.aaaaaaaa-0000-0000-0000-000000000001");
    let connect = |portal: &str, nqn: &str, identity: &str, secret: Option<&str>| {
        let target = Target::NvmeTcp(NvmeTcpTarget {
            portals: vec![portal.to_owned()],
            nqn: nqn.to_owned(),
            namespace: 1,
            dh_chap: secret.map(|secret| DhChap { host: Secret::new(secret.to_owned()), controller: None }),
        });
        Operation::Connect { volume: "v".to_owned(), target, identity: identity.to_owned(), access: ReadWrite }
    };
    let portals = ["10.2.0.1:4420", "10.1.0.1:8009", "127.0.0.1", "localhost:4420", "", "-o", "10.1.0.1:4420,x"];
    let names = ["nqn.2026-12.example:a", "", "nqn.2026-11.example:a,traddr=10.2.0.1", "nqn.2026-11.example:a\n"];
    let identities = ["", "nvme0n1", "/dev/nvme0n1", "naa.6001405d1eba00000000000000000007", "uuid."];
    let secrets = ["", "secret", "DHHC-1:00:a:,hostnqn=nqn.other", "DHHC-1:00:a:\n"];
    let mut asked: Vec<Operation> = portals.map(|portal| connect(portal, nqn, disk, None)).into();
    asked.extend(names.map(|nqn| connect(portal, nqn, disk, None)));
    asked.extend(identities.map(|disk| connect(portal, nqn, disk, None)));
    asked.extend(secrets.map(|secret| connect(portal, nqn, disk, Some(secret))));
    asked
}

/// A node with two backends, one of which has a volume that is staged; the other one, whose host is free, has
/// an attached image `w`, links, a pipe, and a directory to show.
fn site() -> Site {
    let site = Site::configured(|root| {
        fs::create_dir(root.join("theirs")).unwrap();
        let grant =
            |host: &str, guest: &str, write| DirectoryGrant { host: root.join(host), guest: guest.into(), write };
        let own = vec![grant("pool", "/pool", true), grant("pool", "/frozen-pool", false)];
        let theirs = vec![grant("theirs", "/theirs", true)];
        [(BACKEND, own), (OTHER, theirs)]
            .map(|(name, directories)| {
                let nfs = NfsGrant { servers: vec!["10.1.0.0/24".to_owned()], export: "/exports/*".to_owned() };
                let portals = vec![PortalRange { range: "10.1.0.0/24".to_owned(), port: 3260 }];
                let iscsi = IscsiGrant { portals, iqn: "iqn.2026-11.example:*".to_owned() };
                let portals = vec![PortalRange { range: "10.1.0.0/24".to_owned(), port: 4420 }];
                let nvme = NvmeTcpGrant { portals, nqn: "nqn.2026-11.example:*".to_owned() };
                let all = vec![AttachGrant::Nfs(nfs), AttachGrant::Iscsi(iscsi), AttachGrant::NvmeTcp(nvme)];
                let attach = if name == BACKEND { all } else { Vec::new() };
                (name.to_owned(), Permissions { directories, attach, ..harness::PERMISSIONS })
            })
            .into()
    });
    let pool = site.path("pool");
    for name in ["secret", "pool/d", "pods/made"] {
        fs::create_dir(site.path(name)).unwrap();
    }
    for name in ["secret/v.img", "pool/v.img", "theirs/own.img"] {
        File::create(site.path(name)).unwrap().set_len(MIB).unwrap();
    }
    symlink("../secret", pool.join("link")).unwrap();
    symlink("../secret/v.img", pool.join("link.img")).unwrap();
    symlink("/etc", site.path("pods/link")).unwrap();
    run("mkfifo", &[pool.join("pipe").to_str().unwrap()]);
    let image = site.image("w.img", "ext4");
    wait(site.node.attach_image(&call("before", &[]), "w", &image, ReadWrite)).unwrap();
    fs::rename(site.path("pool/w.img"), site.path("theirs/t.img")).unwrap();
    fs::copy(site.path("theirs/t.img"), site.path("theirs/u.img")).unwrap();
    let theirs = site.staging("theirs");
    let mut caller = call("theirs", &[(PathRole::Staging, &theirs)]);
    caller.backend = OTHER.to_owned();
    wait(site.node.attach_image(&caller, "x", "/theirs/u.img", ReadWrite)).unwrap();
    wait(site.node.mount_device(&caller, request("x", &theirs, "ext4"))).unwrap();
    wait(site.node.acknowledge(&caller, Some(publication("x", PublicationKind::Stage, &theirs)))).unwrap();
    site
}

/// Places where nothing may ever be mounted.
fn places(site: &Site) -> Vec<String> {
    let below = |name: &str| site.path(name).to_str().unwrap().to_owned();
    let mut places: Vec<String> = [
        "/",
        "/etc",
        "/etc/motd",
        "/root",
        "/proc/self/root/etc/x",
        "/proc/self/fd/0",
        "/dev/shm/x",
        "",
        "pods/x",
        "/.",
    ]
    .map(str::to_owned)
    .into();
    places.extend(["pods", "pods/../x", "pods/./x", "pods//x", "pods/x/", "pods/link", "pods/link/x"].map(below));
    places.extend(["state/x", "pool/x", "secret", "configuration"].map(below));
    places
}

/// What is asked beyond the configuration.
fn beyond(site: &Site) -> Vec<Request> {
    let own = |operation, path: &str| free(BACKEND, &["v", "w"], &[path], operation);
    let target = site.pod("target");
    let theirs = site.pod("theirs");
    let mut asked = Vec::new();
    for place in places(site) {
        asked.push(own(bind(granted("/pool/d"), &place), &place));
        asked.push(own(mount(&place, "ext4", &[]), &place));
        let operation = Operation::PublishDevice { volume: "w".to_owned(), target: place.clone(), access: ReadWrite };
        asked.push(own(operation, &place));
    }
    for source in
        ["/etc", "/", "/pool", "/pool/../secret", "/pool/link", "/frozen-pool/d", "/theirs", "/theirs/own.img"]
    {
        asked.push(own(bind(granted(source), &target), &target));
    }
    for source in ["/etc", &theirs, &site.pod("link"), "/proc/self/root"] {
        let mut request = own(bind(BindSource::Mounted(source.to_owned()), &target), &target);
        request.caller.paths.push(CallPath { role: PathRole::Staging, path: source.to_owned() });
        asked.push(request);
    }
    let images =
        ["/etc/passwd", "/pool/../secret/v.img", "/pool/link.img", "/pool/link/v.img", "/pool/pipe", "/pool/d"];
    for image in images.into_iter().chain(["/theirs/own.img", "/frozen-pool/v.img", "/dev/loop0", "/proc/kcore"]) {
        asked.push(own(attach("v", image, ReadWrite), &target));
    }
    // Not a path of the call, not a volume of it, no such backend.
    asked.push(free(BACKEND, &["v"], &[], bind(granted("/pool/d"), &target)));
    asked.push(free(BACKEND, &[], &[&target], bind(granted("/pool/d"), &target)));
    asked.push(free(BACKEND, &["v"], &[], attach("invented", "/pool/v.img", ReadWrite)));
    for stranger in ["stranger", "", "../other"] {
        asked.push(free(stranger, &["v"], &[&target], attach("v", "/pool/v.img", ReadOnly)));
        asked.push(free(stranger, &["v"], &[&target], Operation::ListEntries { volume: None }));
        let publication = Some(publication("v", PublicationKind::Stage, "/x"));
        asked.push(free(stranger, &["v"], &[], Operation::Acknowledge { publication }));
        asked.push(free(stranger, &[], &[], Operation::Reread));
    }
    let publication = Some(publication("invented", PublicationKind::Publish, &target));
    asked.push(free(BACKEND, &["v"], &[&target], Operation::Acknowledge { publication }));
    asked.extend(shares_beyond(&target).into_iter().map(|operation| own(operation, &target)));
    asked.extend(disks_beyond().into_iter().map(|operation| own(operation, &target)));
    for place in places(site) {
        asked.push(own(share("10.1.0.1", "/exports/a", None, "", &place), &place));
    }
    asked.push(free(OTHER, &["v"], &[&target], share("10.1.0.1", "/exports/a", None, "", &target)));
    // File systems and options that are not offered.
    for (file_system, option) in [("proc", ""), ("tmpfs", ""), ("overlay", "lowerdir=/"), ("ext4", "errors=panic")] {
        asked.push(own(mount(&site.pod("made"), file_system, &[option]), &site.pod("made")));
    }
    // What another backend has, by its names.
    let volume = || "x".to_owned();
    for operation in [
        Operation::SetAccess { volume: volume(), target: theirs.clone(), access: ReadOnly },
        Operation::SetGroup { volume: volume(), target: theirs.clone(), group: 0 },
        Operation::GetUsage { volume: volume(), path: theirs.clone() },
        Operation::Grow { volume: volume() },
        Operation::Trim { volume: volume() },
        Operation::RenewUuid { volume: volume(), file_system: "ext4".to_owned() },
    ] {
        asked.push(free(BACKEND, &["x"], &[&theirs], operation));
    }
    asked
}

/// What is answered with success because nothing of the asker is there.
fn in_vain(site: &Site) -> Vec<Request> {
    let theirs = site.pod("theirs");
    let volume = || "x".to_owned();
    let operations = [
        Operation::Unmount { volume: volume(), target: theirs.clone() },
        Operation::DetachImage { volume: volume() },
        Operation::Abandon,
        Operation::Forget { volume: volume(), path: theirs.clone() },
        Operation::Unmount { volume: volume(), target: "/etc".to_owned() },
        Operation::Unmount { volume: volume(), target: "/proc".to_owned() },
    ];
    let ask = |operation| {
        let mut request = free(BACKEND, &["x"], &[&theirs, "/etc", "/proc"], operation);
        request.caller.call = "theirs".to_owned();
        request
    };
    operations.map(ask).into()
}

#[test]
fn a_free_host_gets_nothing_that_the_configuration_does_not_grant() {
    if !is_root() {
        return;
    }
    let site = site();
    let (mounts, loops) = (site.mounts(), site.loops());
    let all = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let outside = |text: &str| text.lines().filter(|line| !line.contains("drivebay-node.")).count();
    let before = outside(&all());
    let asked = beyond(&site);
    assert!(asked.len() >= 40, "{}", asked.len());
    let answers: Vec<_> =
        asked.into_iter().map(|request| (request.clone(), wait(site.node.request(request)))).collect();
    let done: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_ok()).collect();
    assert!(done.is_empty(), "{} of {}: {done:#?}", done.len(), answers.len());
    for request in in_vain(&site) {
        assert_eq!(wait(site.node.request(request.clone())).unwrap(), Answer::Done, "{request:?}");
    }
    assert_eq!((site.mounts(), site.loops(), outside(&all())), (mounts, loops, before));
    assert!(is_mount(site.pod("theirs")), "another backend's volume");
    assert_eq!(wait(site.node.publications(OTHER, Some("x"))).unwrap().len(), 1);
    assert!(!fs::exists(site.pod("target")).unwrap(), "nothing was made for what was refused");
    // What is granted is done.
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    wait(site.node.bind(&caller, "v", granted("/pool/d"), &target, ReadWrite)).unwrap();
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
}

/// A helper on a socket of our own.
fn raw(site: &Site) -> OwnedFd {
    let Launch::Program { exe, arguments, variable, mandate } = harness::launch(site.mandate.clone()) else {
        unreachable!("tests start programs");
    };
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let sealed = sealed::seal(&mandate).unwrap();
    let mut command = std::process::Command::new(exe);
    command.args(arguments).env(variable, sealed::number(&sealed).unwrap());
    let null = std::process::Stdio::null;
    let mut child = command.stdin(theirs).stdout(null()).stderr(null()).spawn().unwrap();
    std::thread::spawn(move || child.wait());
    ours
}

/// What the helper answers before it ends.
fn answers(socket: &OwnedFd) -> Vec<Value> {
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    let mut said = Vec::new();
    while let Ok(Some(answer)) = frames::receive::<Value>(socket) {
        said.push(answer);
    }
    said
}

#[test]
fn words_that_are_no_request_end_the_helper_and_change_nothing() {
    let site = Site::new();
    site.kill();
    let caller = json!({ "backend": BACKEND, "call": "c", "volumes": ["v"], "paths": [] });
    let everything = json!([{ "host": "/", "guest": "/root", "write": true }]);
    let ask = |operation: Value| json!({ "id": 1, "request": { "caller": caller, "operation": operation } });
    let root = ask(json!({ "attach-image": { "volume": "v", "image": "/root/x.img", "access": "read-write" } }));
    let refused = |said: &[Value]| said.iter().all(|answer| answer["result"]["Err"].is_object());
    // What would grant something, were it believed; then what it would grant.
    for words in [
        json!({ "state_dir": "/", "targets": ["/"], "backends": { BACKEND: { "directories": everything } }, "file": null }),
        json!({ "state_dir": "/etc" }),
        ask(json!({ "register": { "directories": everything } })),
        ask(json!({ "reread": { "directories": everything } })),
        ask(json!({ "permitted": { "directories": everything } })),
        json!([1, 2]),
        json!({ "id": -1 }),
    ] {
        let socket = raw(&site);
        frames::send(&socket, &words).unwrap();
        // It may have ended by then.
        let _ = frames::send(&socket, &root);
        let said = answers(&socket);
        assert!(refused(&said), "{words}: {said:?}");
    }
    // Packets that are not ours: no mark, an unknown mark, larger than any, and text that is no JSON.
    for bytes in [vec![7], vec![2, b'1'], vec![1; 32 * 1024 + 2], vec![0, b'{'], [vec![0], vec![b'['; 10_000]].concat()]
    {
        let socket = raw(&site);
        rustix::net::send(&socket, &bytes, SendFlags::NOSIGNAL).unwrap();
        let _ = frames::send(&socket, &root);
        assert_eq!(answers(&socket), Vec::<Value>::new());
    }
    wait(site.node.respawn()).unwrap();
    site.assert_clean();
}
