//! What an operator can get wrong, or have taken away: configurations, directories, disks that are
//! full, pools that vanish. Each is said in words, nothing is half done, and the host goes on as soon
//! as it is put right. What a component file can have wrong is in `loading.rs`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, ListSnapshotsRequest, ListVolumesRequest, ProbeRequest};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::bad_input::directory;
use crate::support::{Guest, Node, Options, Pool, TestHost, expect, is_root, refused, requests, run_to_end};

const MIB: i64 = 1 << 20;

/// A configuration, and what the program must say about it.
const MISTAKES: [(&str, &str); 17] = [
    ("", "no backend"),
    ("\u{feff}\0", "host.toml"),
    ("[host\n", "host.toml"),
    ("[hosts]\n{BACKEND}", "hosts"),
    ("[host]\nstate = 5\n{BACKEND}", "invalid type"),
    ("[host]\nstate = \"state\"\n{BACKEND}", "host.state: must be an absolute path"),
    ("[host]\nadmin = \"tcp://1.2.3.4\"\n{BACKEND}", "host.admin"),
    ("[host]\nhttp = \"here\"\n{BACKEND}", "127.0.0.1:9911"),
    ("{BACKEND}\n[backend.grants]\ndirectory = []\n", "backend.0.grants.directory"),
    ("{BACKEND}\n[backend.grants]\nnode = \"yes\"\n", "invalid type"),
    ("{BACKEND}\n[backend.grants]\ndirectories = [{ host = \"pool\", guest = \"/pool\" }]\n", "absolute"),
    ("{BACKEND}\n[backend.limits]\ncalls = 0\n", "limits.calls: write a number greater than 0"),
    ("{BACKEND}\n[backend.drain]\ntime = \"soon\"\n", "drain.time"),
    ("{BACKEND}\nsettings = { a = [1] }\n", "settings.a"),
    ("{BACKEND}\ndigest = \"sha256:12\"\n", "64 hexadecimal digits"),
    ("{BACKEND}\n{OTHER}\ncsi = \"unix:///run/a.sock\"\n", "two services share the socket /run/a.sock"),
    (
        "{BACKEND}\n[[backend]]\nname = \"a\"\ncomponent = \"local\"\ncsi = \"unix://b.sock\"\n",
        "must be an absolute path",
    ),
];

#[tokio::test]
async fn configurations_with_a_mistake() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.toml");
    let backend = "[[backend]]\nname = \"a\"\ncomponent = \"local\"\ncsi = \"unix:///run/a.sock\"";
    let other = "[[backend]]\nname = \"b\"\ncomponent = \"local\"";
    for (text, words) in MISTAKES {
        std::fs::write(&file, text.replace("{BACKEND}", backend).replace("{OTHER}", other)).unwrap();
        for command in [["serve", "--config"].as_slice(), &["check"]] {
            let (code, said) = run_to_end(command, &[&file]).await;
            let expected = if command[0] == "check" { 1 } else { 2 };
            assert_eq!(code, expected, "{command:?} {text:?}: {said}");
            assert!(!said.contains("panicked"), "{text:?}: {said}");
            // `check` reports on standard output.
            assert!(command[0] == "check" || said.contains(words), "\"{words}\" for {text:?}: {said}");
        }
    }
}

/// Serves with this state directory and socket; expects that it ends in words.
async fn cannot_start(state: &Path, socket: &Path, pool: &Path, words: &[&str]) {
    let socket = format!("unix://{}", socket.display());
    let grant = format!("{}:/pool", pool.display());
    let arguments = ["serve", "local", "--csi", &socket, "--directory", &grant, "--node-id", "n1", "--state"];
    let (code, said) = run_to_end(&arguments, &[state]).await;
    assert_eq!(code, 1, "{said}");
    assert!(words.iter().all(|word| said.contains(word)) && !said.contains("panicked"), "{words:?}: {said}");
}

#[tokio::test]
async fn places_that_cannot_be_used() {
    let pool = Pool::plain();
    let (state, socket) = (Path::new(&pool.place("state")).to_owned(), Path::new(&pool.place("csi.sock")).to_owned());
    let file = Path::new(&pool.place("file")).to_owned();
    std::fs::write(&file, "a file").unwrap();
    // Neither can be made by anybody, root included.
    cannot_start(&file.join("state"), &socket, &pool.path(), &["state directory", "file/state"]).await;
    cannot_start(Path::new("/proc/state"), &socket, &pool.path(), &["state directory", "/proc/state"]).await;
    cannot_start(&file, &socket, &pool.path(), &["state directory"]).await;
    cannot_start(&state, &socket, &file, &["grants.directories", "/file: this is no directory"]).await;
    cannot_start(&state, &socket, Path::new("/nowhere/pool"), &["/nowhere/pool", "make the directory"]).await;
    let other = Pool::plain();
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&other.path(), Node::Withheld)).await;
    cannot_start(&host.state(), &socket, &pool.path(), &["in use", "state directory of its own"]).await;
    assert_eq!(std::fs::read(&file).unwrap(), b"a file");
    assert_eq!(pool.contents().len(), 0, "nothing was begun in the pool");
    // A backend begins before its sockets do.
    cannot_start(&state, &file.join("csi.sock"), &pool.path(), &["file/csi.sock"]).await;
    cannot_start(&state, &file, &pool.path(), &["no socket", "left alone"]).await;
    cannot_start(&state, &host.socket(), &pool.path(), &["another process is listening there"]).await;
}

/// Fills what is left of a file system.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    let mut size = 1 << 20;
    while size > 0 {
        let block = vec![0x5a; size];
        while file.write_all(&block).and_then(|()| file.sync_data()).is_ok() {}
        size /= 16;
    }
}

/// All that a client can list.
async fn listed(client: &mut ControllerClient<Channel>) -> String {
    let volumes = client.list_volumes(ListVolumesRequest::default()).await.unwrap().into_inner();
    let snapshots = client.list_snapshots(ListSnapshotsRequest::default()).await.unwrap().into_inner();
    format!("{volumes:?} {snapshots:?}")
}

/// A raw device: an image that no program has to fill.
fn block(name: &str, bytes: i64) -> CreateVolumeRequest {
    use drivebay_proto::pb::csi::v1::volume_capability::{AccessType, BlockVolume};
    let mut request = CreateVolumeRequest { capacity_range: Some(requests::size(bytes)), ..requests::create(name) };
    request.volume_capabilities[0].access_type = Some(AccessType::Block(BlockVolume {}));
    request
}

async fn id_of(client: &mut ControllerClient<Channel>, request: CreateVolumeRequest) -> String {
    client.create_volume(request).await.unwrap().into_inner().volume.unwrap().volume_id
}

fn is_full(status: &Status) {
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().contains("pool") && status.message().contains(' '), "{status:?}");
}

#[tokio::test]
async fn a_pool_that_is_full() {
    if !is_root("operators::a_pool_that_is_full") {
        return;
    }
    let pool = Pool::on("ext4", 64);
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Withheld)).await;
    let mut client = host.controller().await;
    let small = id_of(&mut client, directory("small")).await;
    let large = id_of(&mut client, block("large", 24 * MIB)).await;
    let image = pool.path().join(format!("volumes/{}/{large}/image", &large[..2]));
    File::options().write(true).open(&image).unwrap().write_all(&vec![7; 24 << 20]).unwrap();
    let snapshot = client.create_snapshot(requests::snapshot("before", &small)).await.unwrap().into_inner();
    let snapshot = snapshot.snapshot.unwrap().snapshot_id;

    // Not enough for a copy; it is noticed half-way, and the half goes.
    let filler = pool.path().join("lost+found/filler");
    File::create(&filler).unwrap().write_all(&vec![9; 16 << 20]).unwrap();
    let (before, contents) = (listed(&mut client).await, pool.contents());
    let clone = CreateVolumeRequest { capacity_range: None, ..block("clone", 0) };
    let source = requests::clone("clone", &large).volume_content_source;
    let clone = CreateVolumeRequest { volume_content_source: source, ..clone };
    is_full(&refused(client.create_volume(clone.clone()).await));
    is_full(&refused(client.create_snapshot(requests::snapshot("cut", &large)).await));
    is_full(&refused(client.create_volume(block("wish", 500 * MIB)).await));
    is_full(&refused(client.controller_expand_volume(requests::expand(&large, 500 * MIB)).await));
    assert_same(&pool, &contents);
    assert_eq!(listed(&mut client).await, before);

    // Not enough for anything.
    fill(&pool.path().join("lost+found/rest"));
    let contents = pool.contents();
    is_full(&refused(client.create_volume(directory("none")).await));
    is_full(&refused(client.create_snapshot(requests::snapshot("none", &small)).await));
    is_full(&refused(client.create_volume(restored("none", &snapshot)).await));
    let mut groups = host.groups().await;
    is_full(&refused(groups.create_volume_group_snapshot(requests::group_snapshot("none", &[&small])).await));
    is_full(&refused(client.create_volume(requests::create("file-system")).await));
    assert_same(&pool, &contents);
    assert_eq!(listed(&mut client).await, before);
    // What a full disk calls for is possible on one.
    client.delete_snapshot(requests::delete_snapshot(&snapshot)).await.expect("deleting needs no room");

    std::fs::remove_file(filler).unwrap();
    std::fs::remove_file(pool.path().join("lost+found/rest")).unwrap();
    client.create_volume(clone).await.expect("there is room again");
    client.create_volume(directory("none")).await.expect("there is room again");
}

fn restored(name: &str, snapshot: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        volume_content_source: requests::restore(name, snapshot).volume_content_source,
        ..directory(name)
    }
}

/// What stands there is what stood there; folders that group objects may have come, and are empty.
#[track_caller]
fn assert_same(pool: &Pool, before: &std::collections::BTreeMap<std::path::PathBuf, (u64, u64, i64, i64)>) {
    let files = |all: &std::collections::BTreeMap<std::path::PathBuf, (u64, u64, i64, i64)>| -> Vec<_> {
        all.iter().filter(|(path, _)| !path.is_dir()).map(|(path, what)| (path.clone(), *what)).collect()
    };
    assert_eq!(files(&pool.contents()), files(before));
}

#[tokio::test]
async fn a_state_directory_that_is_full() {
    if !is_root("operators::a_state_directory_that_is_full") {
        return;
    }
    let (pool, state) = (Pool::plain(), Pool::on("ext4", 32));
    let options = Options::default().pool(&pool.path(), Node::Withheld).state(&state.path());
    let mut host = TestHost::start(Guest::LOCAL, options).await;
    let mut client = host.controller().await;
    let kept = id_of(&mut client, directory("kept")).await;
    let before = listed(&mut client).await;
    fill(&state.path().join("rest"));
    // The store has room of its own for a while; then it says so.
    let mut made = Vec::new();
    let status = loop {
        let name = format!("more-{}", made.len());
        match client.create_volume(directory(&name)).await {
            Ok(answer) => made.push(answer.into_inner().volume.unwrap().volume_id),
            Err(status) => break status,
        }
        assert!(made.len() < 5_000, "the state never becomes full");
    };
    assert!(matches!(status.code(), Code::Unavailable | Code::ResourceExhausted), "{status:?}");
    assert!(status.message().contains("state"), "{status:?}");
    assert!(client.list_volumes(ListVolumesRequest::default()).await.is_ok(), "reading needs no room");

    std::fs::remove_file(state.path().join("rest")).unwrap();
    let name = format!("more-{}", made.len());
    made.push(id_of(&mut client, directory(&name)).await);
    for volume in &made {
        client.delete_volume(requests::delete(volume)).await.unwrap();
    }
    assert_eq!(listed(&mut client).await, before);
    host.stop().await;

    // Full before the start: it ends in words, and what was there is there afterwards.
    fill(&state.path().join("rest"));
    std::fs::remove_dir_all(state.path().join("code")).unwrap();
    host.start_again().await;
    host.stop().await;
    std::fs::remove_file(state.path().join("rest")).unwrap();
    host.start_again().await;
    let mut client = host.controller().await;
    assert_eq!(listed(&mut client).await, before);
    client.delete_volume(requests::delete(&kept)).await.unwrap();
}

/// A host on a pool that goes and comes back.
struct Vanishing {
    host: TestHost,
    pool: Pool,
}

impl Vanishing {
    async fn probe(&self) -> Option<bool> {
        self.host.identity().await.probe(ProbeRequest {}).await.expect("Probe never fails").into_inner().ready
    }

    /// Calls while it is away, of every kind that would work on it.
    async fn calls_are_refused(&self, volume: &str, snapshot: &str) {
        let channel = self.host.connect().await;
        let mut client = ControllerClient::new(channel);
        let answers = [
            ("create", client.create_volume(directory("b")).await.map(drop)),
            ("create an image", client.create_volume(requests::create("c")).await.map(drop)),
            ("restore", client.create_volume(restored("d", snapshot)).await.map(drop)),
            ("delete", client.delete_volume(requests::delete(volume)).await.map(drop)),
            ("expand", client.controller_expand_volume(requests::expand(volume, 2 * requests::GIB)).await.map(drop)),
            ("attach", client.controller_publish_volume(requests::attach(volume)).await.map(drop)),
            ("snapshot", client.create_snapshot(requests::snapshot("e", volume)).await.map(drop)),
            ("delete a snapshot", client.delete_snapshot(requests::delete_snapshot(snapshot)).await.map(drop)),
            ("list", client.list_volumes(ListVolumesRequest::default()).await.map(drop)),
            ("list snapshots", client.list_snapshots(ListSnapshotsRequest::default()).await.map(drop)),
            ("validate", client.validate_volume_capabilities(requests::validate(volume)).await.map(drop)),
        ];
        for (what, answer) in answers {
            let status = answer.expect_err(what);
            assert!(matches!(status.code(), Code::Unavailable | Code::FailedPrecondition), "{what}: {status:?}");
            let words = status.message();
            assert!(words.contains("pool") || words.contains("directory"), "{what}: {status:?}");
        }
    }

    /// Takes the pool away and puts it back.
    async fn comes_and_goes(&self, away: impl FnOnce(&Pool), looks: impl Fn(&Pool), back: impl FnOnce(&Pool)) {
        let mut client = self.host.controller().await;
        let volume = id_of(&mut client, directory("a")).await;
        let cut = client.create_snapshot(requests::snapshot("s", &volume)).await.unwrap().into_inner();
        let snapshot = cut.snapshot.unwrap().snapshot_id;
        let (before, contents) = (listed(&mut client).await, self.pool.contents());
        assert_eq!(self.probe().await, Some(true));

        let gone = std::time::Instant::now();
        away(&self.pool);
        self.host.sees_as_it_is(&self.pool.path()).await;
        self.calls_are_refused(&volume, &snapshot).await;
        let seen = self.host.log.wait("to=Unhealthy(", 1).await;
        assert_eq!(self.probe().await, Some(false));
        assert!(seen.at.duration_since(gone) < Duration::from_secs(15), "{:?}", seen.at.duration_since(gone));
        self.calls_are_refused(&volume, &snapshot).await;
        looks(&self.pool);

        let good = self.host.log.with("to=Ready").len();
        back(&self.pool);
        self.host.log.wait("to=Ready", good + 1).await;
        assert_eq!(self.probe().await, Some(true));
        assert_eq!(listed(&mut client).await, before);
        assert_same(&self.pool, &contents);
        client.create_volume(directory("b")).await.expect("the pool is back");
        client.create_volume(restored("d", &snapshot)).await.expect("the pool is back");
        client.delete_volume(requests::delete(&volume)).await.expect("the pool is back");
    }
}

async fn vanishing(pool: Pool) -> Vanishing {
    let options = Options::default().pool(&pool.path(), Node::Withheld);
    Vanishing { host: TestHost::start(Guest::LOCAL, options).await, pool }
}

/// What an operator's `umount` does, and what a dead disk or a typing error does. Both at once: what
/// takes long is that the host looks every 10 s.
#[tokio::test]
async fn a_pool_that_vanishes() {
    let removed = async {
        let site = vanishing(Pool::plain()).await;
        let aside = site.pool.place("aside");
        let nothing = |pool: &Pool| assert!(!pool.path().exists(), "nobody makes a pool in its place");
        site.comes_and_goes(
            |pool| std::fs::rename(pool.path(), &aside).unwrap(),
            nothing,
            |pool| std::fs::rename(&aside, pool.path()).unwrap(),
        )
        .await;
    };
    let unmounted = async {
        if !is_root("operators::a_pool_that_vanishes (unmounted)") {
            return;
        }
        let site = vanishing(Pool::on("ext4", 64)).await;
        let empty = |pool: &Pool| assert_eq!(std::fs::read_dir(pool.path()).unwrap().count(), 0);
        site.comes_and_goes(Pool::unmount, empty, Pool::mount).await;
    };
    tokio::join!(removed, unmounted);
}

/// An operator who is told what is wrong needs no log.
#[tokio::test]
async fn an_empty_mount_point_is_no_new_pool() {
    let pool = Pool::plain();
    let mut host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Withheld)).await;
    let volume = id_of(&mut host.controller().await, directory("a")).await;
    host.stop().await;
    let aside = pool.place("aside");
    std::fs::rename(pool.path(), &aside).unwrap();
    std::fs::create_dir(pool.path()).unwrap();
    let mut host = host.recovering();
    host.start_again().await;
    host.log.wait("recovery failed", 1).await;
    let status = refused(host.controller().await.delete_volume(requests::delete(&volume)).await);
    expect(&status, Code::Unavailable, "mount its file system again");
    assert_eq!(std::fs::read_dir(pool.path()).unwrap().count(), 0);
    std::fs::remove_dir(pool.path()).unwrap();
    std::fs::rename(&aside, pool.path()).unwrap();
    host.ready().await;
    host.controller().await.delete_volume(requests::delete(&volume)).await.expect("the pool is back");
}
