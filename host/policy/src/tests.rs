//! Good and bad configurations.

use std::time::Duration;

use super::grants::{http, node::MountOption};
use super::*;

const WHOLE: &str = r#"
[host]
state = "/var/lib/x"
admin = "unix:///run/x/admin.sock"
http = "127.0.0.1:9911"
targets = ["/data/kubelet/pods"]
[[backend]]
name = "local"
component = "local"
csi = "unix:///run/x/csi.sock"
addons = "unix:///run/x/addons.sock"
node-id = "worker-1"
settings = { pool = "/pool", workers = 3, fast = true }
alpha = false
signers = ["/etc/x/vendor.pub"]
digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
[backend.grants]
directories = [{ host = "/srv/pool", guest = "/pool", write = true }]
http = [
  "https://a.example:1",
  { origin = "https://*.b.example:2", addresses = ["10.0.0.0/8"], login = ["/api/login"], ca = "/etc/x/ca.pem", certificate = "/etc/x/c.pem", key = "/etc/x/c.key" },
]
http-mode = "report"
node = true
mount-options = ["suid"]
attach = [{ protocol = "nfs", servers = ["10.20.0.0/16", "fd00::5"], export = "/exports/*" }, { protocol = "iscsi", portals = ["10.20.0.0/16", "[fd00::5]:860"], iqn = "iqn.2026-11.example:*" }, { protocol = "nvme-tcp", portals = ["10.20.0.0/16", "[fd00::5]:8009"], nqn = "nqn.2026-11.example:*" }]
[backend.limits]
memory = "128MiB"
calls = 10
change-time = "2m"
http-connections = 7
http-response = "1MiB"
http-time = "3s"
[backend.instances]
reuse = { calls = 1000, idle = "30s" }
[backend.drain]
time = "5s"
[backend.trial]
time = "7s"
[backend.background]
budget = 3
"#;

#[test]
fn everything_is_read() {
    let config = Config::parse("x.toml", WHOLE).unwrap();
    assert_eq!(config.host.targets, [PathBuf::from("/data/kubelet/pods")]);
    let backend = &config.backends[0];
    assert_eq!(backend.component, ComponentSource::Local);
    assert_eq!(backend.settings.len(), 3);
    assert!(backend.settings.contains(&("workers".into(), "3".into())));
    assert_eq!(backend.limits.memory, 128 << 20);
    assert_eq!(backend.limits.wall.change, Duration::from_mins(2));
    assert_eq!(backend.instances, InstancePolicy::Reuse { calls: 1000, idle: Duration::from_secs(30) });
    assert_eq!(backend.grants.node.mount_options, [MountOption::Suid]);
    assert_eq!(backend.grants.attach[0].to_string(), "nfs /exports/* of 10.20.0.0/16, fd00::5");
    let iscsi = "iscsi iqn.2026-11.example:* at 10.20.0.0/16:3260, [fd00::5]:860";
    assert_eq!(backend.grants.attach[1].to_string(), iscsi);
    let nvme = "nvme-tcp nqn.2026-11.example:* at 10.20.0.0/16:4420, [fd00::5]:8009";
    assert_eq!(backend.grants.attach[2].to_string(), nvme);
    let granted = &backend.grants.http.origins[1];
    assert_eq!(
        (granted.origin.to_string().as_str(), &granted.login[..]),
        ("https://*.b.example:2", &["/api/login".to_owned()][..])
    );
    assert_eq!(granted.addresses, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(granted.ca.as_deref(), Some("/etc/x/ca.pem".as_ref()));
    assert_eq!(granted.identity.as_ref().unwrap().key, PathBuf::from("/etc/x/c.key"));
    assert_eq!(backend.grants.http.mode, http::Mode::Report);
    let http = &backend.limits.http;
    assert_eq!((http.connections, http.response, http.time), (7, 1 << 20, Duration::from_secs(3)));
    assert!(!backend.alpha && !backend.legacy_condition);
    assert_eq!((backend.drain, backend.background.budget), (Duration::from_secs(5), 3));
    assert_eq!((backend.trial, backend.signers.len()), (Duration::from_secs(7), 1));
    assert_eq!(backend.giving(backend.given()), *backend);
}

#[test]
fn all_problems_are_reported_together() {
    let text = r#"
[host]
admin = "tcp://1.2.3.4"
colour = "red"
[[backend]]
name = "a b"
component = "x.wasm"
csi = "unix:///run/a.sock"
digest = "md5:1"
[backend.limits]
memory = "much"
speed = 3
[[backend]]
name = "c"
component = "x.wasm"
csi = "unix:///run/a.sock"
memry = 1
[[backend]]
name = "d"
component = "x.wasm"
[backend.grants]
http-mode = "off"
http = [
  "ftp://a.example",
  { origin = "https://a.example", adresses = [] },
  { origin = "https://b.example", addresses = ["10.0.0.1/8"], login = ["api?x"], ca = "ca.pem", key = "/k" },
  { origin = "https://c.example", addresses = ["224.0.0.0/4"] },
  { origin = "https://10.0.0.1", addresses = ["10.0.0.0/8"] },
]
"#;
    let error = Config::parse("x.toml", text).unwrap_err().to_string();
    for expected in [
        "host.admin",
        "a name has letters",
        "backend \"a b\".digest",
        "limits.memory: \"much\" is not a size",
        "line 12: unknown key `backend.0.limits.speed`: known here: memory, ",
        "line 4: unknown key `host.colour`: known here: state, admin, http, targets",
        "line 17: unknown key `backend.1.memry`: did you mean `memory` in [backend.limits]?",
        "unknown key `backend.2.grants.http.1.adresses`: did you mean `addresses`?",
        "two services share the socket /run/a.sock",
        "backend \"d\": no socket",
        "grants.http: \"ftp://a.example\" is no origin",
        "https://b.example: addresses: \"10.0.0.1/8\" is no range",
        "https://b.example: login: write paths",
        "https://b.example: ca, certificate and key must be absolute",
        "https://b.example: certificate and key belong together",
        "224.0.0.0/4 cannot be granted",
        "https://10.0.0.1: addresses: the origin is an address already",
        "grants.http-mode: write \"enforce\"",
    ] {
        assert!(error.contains(expected), "{expected} is missing in:\n{error}");
    }
}

#[test]
fn a_socket_path_that_is_too_long_is_said_in_words() {
    let path = format!("unix:///{}", "x".repeat(120));
    let error = units::socket(&path).unwrap_err();
    assert!(error.contains("121 bytes") && error.contains("107"), "{error}");
    assert!(units::socket("relative.sock").is_err());
    assert!(units::socket("tcp://127.0.0.1:1").is_err());
    assert_eq!(units::socket("/run/x.sock").unwrap().to_str(), Some("/run/x.sock"));
}

#[test]
fn no_toml_at_all() {
    assert!(Config::parse("x.toml", "[[[").is_err());
}

#[test]
fn directories_that_overlap_are_refused_where_one_may_be_written() {
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(here.path().join("outer/inner")).unwrap();
    std::os::unix::fs::symlink("outer/inner", here.path().join("link")).unwrap();
    let grant = |host: &str, guest: &str, write: bool| {
        format!("{{ host = \"{}/{host}\", guest = \"/{guest}\", write = {write} }}", here.path().display())
    };
    let parse = |of_one: &[String], of_other: &[String]| {
        let backend = |name: &str, grants: &[String]| {
            format!(
                "[[backend]]\nname = \"{name}\"\ncomponent = \"local\"\ncsi = \"unix:///run/{name}.sock\"\n\
                 [backend.grants]\ndirectories = [{}]\n",
                grants.join(", ")
            )
        };
        Config::parse("test", &(backend("one", of_one) + &backend("other", of_other)))
    };
    let refused = [
        (vec![grant("outer", "a", true), grant("outer/inner", "b", true)], vec![]),
        (vec![grant("outer", "a", true), grant("link", "b", false)], vec![]),
        (vec![grant("outer", "a", false), grant("outer/inner", "b", true)], vec![]),
        (vec![grant("outer", "a", true), grant("outer", "b", false)], vec![]),
        (vec![grant("outer", "a", true)], vec![grant("outer/inner", "a", false)]),
        (vec![grant("absent", "a", true)], vec![grant("absent/below", "a", true)]),
    ];
    for (of_one, of_other) in refused {
        let said = parse(&of_one, &of_other).unwrap_err().to_string();
        assert!(said.contains("overlap, and one of them may be written"), "{said}");
    }
    let apart = [
        (vec![grant("outer", "a", false), grant("outer/inner", "b", false)], vec![]),
        (vec![grant("outer", "a", true), grant("outer-two", "b", true)], vec![]),
        (vec![grant("outer", "a", true)], vec![grant("outer", "a", true)]),
    ];
    for (of_one, of_other) in apart {
        assert!(parse(&of_one, &of_other).is_ok());
    }
}

#[test]
fn directories_around_the_hosts_state_are_refused() {
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(here.path().join("lib/state/below")).unwrap();
    std::os::unix::fs::symlink("lib", here.path().join("link")).unwrap();
    let parse = |granted: &str| {
        let root = here.path().display();
        let text = format!(
            "[host]\nstate = \"{root}/lib/state\"\n[[backend]]\nname = \"x\"\ncomponent = \"local\"\n\
             csi = \"unix:///x\"\n[backend.grants]\ndirectories = [{{ host = \"{root}/{granted}\", guest = \"/a\" }}]\n"
        );
        Config::parse("test", &text)
    };
    for granted in ["lib", "lib/state", "lib/state/below", "link"] {
        let said = parse(granted).unwrap_err().to_string();
        assert!(said.contains("and the host's state in "), "{granted}: {said}");
    }
    for granted in ["lib/state-two", "lib/pool"] {
        assert!(parse(granted).is_ok(), "{granted}");
    }
}

#[test]
fn volumes_are_mounted_below_named_directories() {
    let of = |line: &str| {
        let text = format!("[host]\n{line}\n[[backend]]\nname = \"x\"\ncomponent = \"local\"\ncsi = \"unix:///x\"\n");
        Config::parse("x.toml", &text).map(|config| config.host.targets)
    };
    assert_eq!(of("").unwrap(), DEFAULT_TARGETS.map(PathBuf::from));
    assert_eq!(of("targets = [\"/a\", \"/b/c\"]").unwrap(), ["/a", "/b/c"].map(PathBuf::from));
    for wrong in ["/", "a", "/a/../b", ""] {
        let error = of(&format!("targets = [\"{wrong}\"]")).unwrap_err().to_string();
        assert!(error.contains("host.targets"), "{wrong}: {error}");
    }
}

#[test]
fn attachments_that_cannot_be_are_reported() {
    let text = r#"
[[backend]]
name = "a"
component = "x.wasm"
csi = "unix:///run/a.sock"
[backend.grants]
attach = [
  { protocol = "tape" },
  { protocol = "iscsi", portals = ["array:3260"], iqn = "array", export = "/a" },
  { protocol = "iscsi" },
  { protocol = "nvme-tcp", portals = ["10.20.0.7"], iqn = "iqn.2026-11.example:a" },
  { protocol = "nfs", servers = ["filer", "224.0.0.1"], export = "/exports*" },
  { protocol = "nfs", export = "/exports", server = "10.0.0.1" },
]
"#;
    let error = Config::parse("x.toml", text).unwrap_err().to_string();
    for expected in [
        "\"tape\" is no protocol that this host attaches",
        "grants.attach: portals: \"array:3260\" is no range of addresses with a port",
        "grants.attach: iqn: write a target's name",
        "grants.attach: a key of another protocol",
        "grants.attach: nqn: write a subsystem's name",
        "grants.attach: portals: name the array's portals",
        "grants.attach: servers: \"filer\" is no range",
        "grants.attach: 224.0.0.1 cannot be granted",
        "grants.attach: export: write an exported path",
        "grants.attach: servers: name the addresses",
        "unknown key `backend.0.grants.attach.5.server`: did you mean `servers`?",
    ] {
        assert!(error.contains(expected), "{expected:?} in {error}");
    }
}
