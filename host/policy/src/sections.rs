//! The sections of a configuration file: their keys, what each is for, and its default. Operators read it
//! (`drivebay config`), and a misspelt key is compared with it. The keys are the types' own; a key without a row, or a
//! row without a key, fails the tests.

use super::backend::{DRAIN, SOCKET_MODE, TRIAL};
use super::limits::Limits;
use super::rows::{Row, Section, bytes, needed, quoted, row, time};
use super::{BackgroundConfig, DEFAULT_STATE, DEFAULT_TARGETS, grants, package, shape};

const fn section(path: &'static [&'static str], heading: &'static str, keys: fn() -> Vec<&'static str>) -> Section {
    Section::new(path, heading, keys)
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().chain(grants::sections())
}

/// Those that are not of a kind of grant.
const SECTIONS: [Section; 11] = [
    section(&[], "the file itself", || shape::keys().file.to_vec()),
    section(&["host"], "[host]", || shape::keys().host.to_vec()),
    section(&["host", "packages"], "[host.packages]", || package::PackagesSection::keys().to_vec()),
    section(&["backend"], "[[backend]]", || shape::keys().backend.to_vec()),
    section(&["backend", "grants"], "[backend.grants]", grants::keys),
    section(&["backend", "limits"], "[backend.limits]", || limits().into_iter().map(|row| row.key).collect()),
    section(&["backend", "instances"], "[backend.instances]", || shape::keys().instances.to_vec()),
    section(&["backend", "instances", "reuse"], "`reuse` in [backend.instances]", || shape::keys().reuse.to_vec()),
    section(&["backend", "trial"], "[backend.trial]", || shape::keys().time.to_vec()),
    section(&["backend", "drain"], "[backend.drain]", || shape::keys().time.to_vec()),
    section(&["backend", "background"], "[backend.background]", || shape::keys().background.to_vec()),
];

/// `[host]`.
pub(super) fn host() -> Vec<Row> {
    let targets: Vec<_> = DEFAULT_TARGETS.iter().map(quoted).collect();
    vec![
        row(
            "state",
            quoted(DEFAULT_STATE),
            "Directory of the durable state, the node ledger and compiled code. An absolute path.",
        ),
        row(
            "admin",
            quoted("unix:///run/drivebay/admin.sock"),
            "Socket for `status`, `reload` and the other commands of operators; its owner alone may open it.\n\
             Unless given: none.",
        ),
        row("http", quoted("127.0.0.1:9911"), "Address of the status page and of /metrics. Unless given: none."),
        row("targets", format!("[{}]", targets.join(", ")), "Directories below which volumes may be mounted."),
    ]
}

/// `[[backend]]`, without its sections.
pub(super) fn backend() -> Vec<Row> {
    let digest = format!("sha256:{}", "0".repeat(64));
    vec![
        needed("name", "\"local\"", "The operator's name for it: letters, digits, and - _ . only."),
        needed(
            "component",
            "\"local\"",
            "The .wasm file, \"local\" for the built-in backend, or a package: \"oci://registry/name:tag\", with\n\
             \"@sha256:...\" behind it if nothing else may be loaded.",
        ),
        row(
            "refresh",
            quoted("5m"),
            "How often the tag of a package is looked up again; what it names then is staged like a new file.\n\
             Unless given: at the start, by `reload`, and when this file changes. Files are watched anyway.",
        ),
        needed(
            "csi",
            "\"unix:///run/drivebay/local/csi.sock\"",
            "Socket for all of CSI. It, or one of the next two, is needed.",
        ),
        row(
            "csi-controller",
            quoted("unix:///run/drivebay/local/controller.sock"),
            "Socket for the controller's services alone.",
        ),
        row("csi-node", quoted("unix:///run/drivebay/local/node.sock"), "Socket for the node's service alone."),
        row("addons", quoted("unix:///run/drivebay/local/addons.sock"), "Socket for csi-addons."),
        row("socket-mode", quoted(format!("{SOCKET_MODE:04o}")), "Permission bits of these sockets, in octal."),
        row("node-id", quoted("worker-1"), "What this node is called. Needed by backends with a node service."),
        row("settings", "{ pool = \"/pool\" }", "Passed to the backend (wasi:config): texts, numbers, true or false."),
        row("alpha", "true", "Whether alpha capabilities are shown to clients."),
        row(
            "legacy-condition",
            "false",
            "Whether VOLUME_CONDITION of CSI 1.12 is advertised. Older health monitors then read the condition of volumes from\n\
             ListVolumes, ControllerGetVolume and NodeGetVolumeStats.",
        ),
        row("digest", quoted(digest), "The only component that may be loaded, with all 64 digits. Unless given: any."),
        row(
            "signers",
            "[\"/etc/drivebay/vendor.pub\"]",
            "Public keys of which one must have signed the component (FILE.wasm.sig). Unless given: no signature is\n\
             demanded.",
        ),
    ]
}

/// `[backend.limits]`.
pub(super) fn limits() -> Vec<Row> {
    let l = Limits::default();
    let mut rows = vec![
        row("memory", bytes(l.memory), "All linear memories of one instance together."),
        row("memory-total", bytes(l.memory_total), "Memory of all instances of the backend together."),
        row("cpu", time(l.cpu), "CPU time of one call."),
        row("read-time", time(l.wall.read), "Wall time of a call that reads."),
        row("change-time", time(l.wall.change), "Wall time of a call that changes something."),
        row("probe-time", time(l.wall.probe), "Wall time of the host's own probe."),
        row("step-time", time(l.wall.step), "Wall time of one step of background work."),
        row("recovery-time", time(l.wall.recovery), "Wall time of recovery after a start."),
        row("load-time", time(l.wall.load), "Wall time of describe and self-test."),
        row("calls", l.calls.to_string(), "Calls under way at once, 2 to 1000."),
        row("crossing", bytes(l.crossing), "Bytes that one crossing of the boundary may carry."),
        row("crossing-total", bytes(l.crossing_total), "Bytes that all host calls of one call may carry together."),
        row("log-rate", bytes(l.log_rate), "Bytes of log a second."),
        row("log-burst", bytes(l.log_burst), "Bytes of log in one burst."),
        row("state", bytes(l.state), "Keys and values of the durable state together."),
        row("state-waiting", bytes(l.state_waiting), "Bytes of commits that wait for the disk at once."),
        row("handles", l.handles.to_string(), "Open handles of one instance."),
        row("open-files", l.open_files.to_string(), "Files and directories that all calls hold open together."),
        row("node-devices", l.node_devices.to_string(), "Loop devices on this node."),
        row("table-elements", l.table_elements.to_string(), "Elements of all tables of one instance together."),
        row("jobs", l.jobs.to_string(), "Jobs of the host that run at once."),
        row(
            "failures",
            l.failures.to_string(),
            "Calls in a row that may end badly before calls are refused for a while.",
        ),
        row("compile-memory", bytes(l.compile_memory), "Memory of the process that compiles the component."),
        row("compile-time", time(l.compile_time), "How long compiling may take."),
    ];
    rows.extend(grants::limit_rows(&l));
    rows
}

/// The small sections of a backend, with their headings and what they are for.
pub(super) fn others() -> [(&'static str, &'static str, Vec<Row>); 4] {
    let budget = BackgroundConfig::default().budget.to_string();
    [
        (
            "backend.instances",
            "Unless given, every call has a fresh instance.",
            vec![row(
                "reuse",
                "{ calls = 1000, idle = \"30s\" }",
                "An instance serves so many calls, and is dropped after so long without one.",
            )],
        ),
        ("backend.trial", "A new generation is on trial.", vec![row("time", time(TRIAL), "How long.")]),
        (
            "backend.drain",
            "Calls of an old generation, or of a host that ends, may go on.",
            vec![row("time", time(DRAIN), "How long.")],
        ),
        ("backend.background", "Background work.", vec![row("budget", budget, "Steps that run side by side.")]),
    ]
}
