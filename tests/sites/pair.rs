//! Two hosts that replicate, the link between them, and what their clients ask. A call that must
//! succeed later is repeated, as controllers do; nothing else waits.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prost_reflect::DescriptorPool;
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tonic::{Code, Status};

use crate::support::place::{Place, PoolKind};
use crate::support::served::Served;
use crate::support::site::{Content, Site, Volume, options_with};
use crate::support::tap::Tap;
use crate::support::{Guest, PATIENCE, TestHost, beside_steps, wire};

/// How long between two attempts of a call that is repeated.
const AGAIN: Duration = Duration::from_millis(25);

/// A host with everything that belongs to its site, and a client of it.
#[derive(Debug)]
pub struct End {
    pub site: Site,
    contracts: DescriptorPool,
}

/// Two sites. Hosts go before the link.
#[derive(Debug)]
pub struct Pair {
    pub a: End,
    pub b: End,
    link: Link,
}

/// What the sites share.
#[derive(Debug)]
enum Link {
    Plain(TempDir),
    Served(Served),
}

impl Link {
    fn path(&self) -> &Path {
        match self {
            Self::Plain(directory) => directory.path(),
            Self::Served(served) => served.path(),
        }
    }
}

/// One of the two sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    A,
    B,
}

/// A volume that is replicated, as each site knows it.
#[derive(Debug)]
pub struct Copied {
    pub a: Volume,
    pub b: Volume,
}

impl Pair {
    /// None: nothing can be mounted here, which is said aloud.
    pub async fn start(kind: PoolKind) -> Option<Self> {
        Self::with(kind, Link::Plain(tempfile::tempdir().unwrap())).await
    }

    /// The same with a link behind a server of the test's own.
    pub async fn served(kind: PoolKind) -> Option<Self> {
        Self::with(kind, Link::Served(Served::make()?)).await
    }

    async fn with(kind: PoolKind, link: Link) -> Option<Self> {
        let (a, b) = (Place::make(kind)?, Place::make(kind)?);
        let (a, b) = tokio::join!(End::start(a, link.path(), None), End::start(b, link.path(), None));
        Some(Self { a, b, link })
    }

    /// The server of the link.
    pub fn server(&self) -> &Served {
        let Link::Served(served) = &self.link else { panic!("the link is a plain directory") };
        served
    }

    /// The same with a tap on one of the hosts, which counts changes in its pool, in the link and in its
    /// state.
    pub async fn tapped(kind: PoolKind, which: Which) -> Option<(Self, Tap)> {
        let (a, b) = (Place::make(kind)?, Place::make(kind)?);
        let link = tempfile::tempdir().unwrap();
        let place = if which == Which::A { &a } else { &b };
        let tap = Tap::new(vec![place.pool(), link.path().to_owned()]);
        let at = |end| (which == end).then_some(&tap);
        let a = End::start(a, link.path(), at(Which::A)).await;
        let b = End::start(b, link.path(), at(Which::B)).await;
        let mut pair = Self { a, b, link: Link::Plain(link) };
        tap.watch(pair.end(which).site.host.state());
        Some((pair, tap))
    }

    /// A site, to kill and start it.
    pub fn end(&mut self, which: Which) -> &mut End {
        match which {
            Which::A => &mut self.a,
            Which::B => &mut self.b,
        }
    }

    pub fn at(&self, which: Which) -> &End {
        match which {
            Which::A => &self.a,
            Which::B => &self.b,
        }
    }

    /// What either site still says of replications in the link: site and uid.
    pub fn replications(&self) -> BTreeSet<String> {
        let of = |end: &End| {
            let folder = self.home(end).join("replications");
            let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            all.map(|uid| format!("{}/{}", end.name(), uid.display())).collect::<Vec<_>>()
        };
        [of(&self.a), of(&self.b)].into_iter().flatten().collect()
    }

    /// Enables the replication of a volume at A, and returns when its first transfer is whole.
    pub async fn replicate(&self, volume: &Volume, parameters: Json) -> Copied {
        self.a.enable(&source(volume), parameters).await.unwrap();
        let id = self.a.copy_of(&source(volume)).await;
        assert_ne!(id, volume.id);
        self.a.info(&source(volume)).await;
        let copy = Volume::known(&id, &format!("{}-copy", volume.name), volume.content);
        Copied { a: volume.clone(), b: copy }
    }

    /// A raw volume at A that holds a word, with a whole copy at B.
    pub async fn replicated(&self, name: &str, word: &[u8], parameters: Json) -> Copied {
        let volume = self.a.site.create(name, Content::Block, None).await.unwrap();
        self.a.write(&volume, 100_000, word);
        let copied = self.replicate(&volume, parameters).await;
        self.assert_same(&copied);
        copied
    }

    /// Both images, which nobody writes to, hold the same bytes.
    pub fn assert_same(&self, copied: &Copied) {
        let (a, b) = (self.a.bytes(&copied.a), self.b.bytes(&copied.b));
        let at = a.iter().zip(&b).position(|(a, b)| a != b);
        assert!(a.len() == b.len() && at.is_none(), "{} and {} bytes differ at {at:?}", a.len(), b.len());
    }

    /// Takes away what the sites share.
    pub fn lose_link(&self) {
        std::fs::rename(self.link.path().join("sites"), self.link.path().join("lost")).unwrap();
    }

    /// Where a path in the link is while that is lost.
    pub fn lost(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(self.link.path().join("sites")).unwrap();
        self.link.path().join("lost").join(below)
    }

    /// Brings it back as it was.
    pub fn restore_link(&self) {
        std::fs::rename(self.link.path().join("lost"), self.link.path().join("sites")).unwrap();
    }

    /// Takes the link directory itself away, as when its server is gone.
    pub fn take_link_away(&self) {
        std::fs::rename(self.link.path(), self.link.path().with_extension("away")).unwrap();
    }

    /// Puts it back.
    pub fn put_link_back(&self) {
        std::fs::rename(self.link.path().with_extension("away"), self.link.path()).unwrap();
    }

    /// The folder of what a site sends of a replication.
    pub fn folder(&self, end: &End, uid: &str) -> PathBuf {
        self.link.path().join("sites").join(end.name()).join("replications").join(uid)
    }

    /// The folder of a site in the link.
    pub fn home(&self, end: &End) -> PathBuf {
        self.link.path().join("sites").join(end.name())
    }
}

impl End {
    /// A site whose peer never comes, with its link. None: nothing can be mounted here.
    pub async fn alone(kind: PoolKind) -> Option<(TempDir, Self)> {
        let (place, link) = (Place::make(kind)?, tempfile::tempdir().unwrap());
        let end = Self::start(place, link.path(), None).await;
        Some((link, end))
    }

    async fn start(place: Place, link: &Path, tap: Option<&Tap>) -> Self {
        let mut options = options_with(&place, "this-node", &[(link, "/link")]).setting("link", "/link");
        if let Some(tap) = tap {
            options = options.tapped(tap);
        }
        let host = TestHost::start(Guest::LOCAL, options).await;
        Self { site: Site { host, place }, contracts: wire::contracts() }
    }

    /// Suspends the host, or lets it go on.
    pub fn signal(&self, signal: Signal) {
        self.site.host.signal(signal);
    }

    /// Calls `service/Method`.
    pub async fn ask(&self, method: &str, request: Json) -> Result<Json, Status> {
        let ask = || wire::ask(self.site.host.connect_later(), &self.contracts, method, request.clone());
        beside_steps(ask).await
    }

    async fn replication(&self, method: &str, source: &Json, mut more: Json) -> Result<Json, Status> {
        more["replicationSource"] = source.clone();
        self.ask(&format!("replication.Controller/{method}"), more).await
    }

    pub async fn enable(&self, source: &Json, parameters: Json) -> Result<Json, Status> {
        self.replication("EnableVolumeReplication", source, json!({ "parameters": parameters })).await
    }

    pub async fn disable(&self, source: &Json) -> Result<Json, Status> {
        self.replication("DisableVolumeReplication", source, json!({})).await
    }

    pub async fn promote(&self, source: &Json) -> Result<Json, Status> {
        self.replication("PromoteVolume", source, json!({})).await
    }

    pub async fn promote_by_force(&self, source: &Json) -> Result<Json, Status> {
        self.replication("PromoteVolume", source, json!({ "force": true })).await
    }

    pub async fn demote(&self, source: &Json) -> Result<Json, Status> {
        self.replication("DemoteVolume", source, json!({})).await
    }

    /// Whether the copy is usable.
    pub async fn resync(&self, source: &Json) -> Result<bool, Status> {
        Ok(self.replication("ResyncVolume", source, json!({})).await?["ready"] == true)
    }

    pub async fn try_info(&self, source: &Json) -> Result<Json, Status> {
        self.replication("GetVolumeReplicationInfo", source, json!({})).await
    }

    /// What is told of the replication once a transfer was whole.
    pub async fn info(&self, source: &Json) -> Json {
        repeated(|| self.try_info(source)).await
    }

    /// The same when it looks like this.
    pub async fn info_when(&self, source: &Json, looks_so: impl Fn(&Json) -> bool) -> Json {
        until(|| async { self.try_info(source).await.ok().filter(&looks_so) }, "the replication never looks so").await
    }

    /// The ids at the peer.
    pub async fn destination(&self, source: &Json) -> Json {
        let told = repeated(|| self.replication("GetReplicationDestinationInfo", source, json!({}))).await;
        told["replicationDestination"].clone()
    }

    /// The id of a volume's copy.
    pub async fn copy_of(&self, source: &Json) -> String {
        self.destination(source).await["volume"]["volumeId"].as_str().unwrap().to_owned()
    }

    /// The name of the site in the link.
    fn name(&self) -> String {
        let text = std::fs::read(self.site.place.pool().join("pool.json")).unwrap();
        let record: Json = serde_json::from_slice(&text).unwrap();
        record["id"].as_str().expect("a pool has an id").to_owned()
    }

    /// The name of a source's replication in the link.
    pub fn uid(&self, section: &str, id: &str) -> String {
        let path = self.site.place.pool().join(section).join(&id[..2]).join(id).join("replication.json");
        let record: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        record["uid"].as_str().unwrap().to_owned()
    }

    /// The image of a volume.
    pub fn bytes(&self, volume: &Volume) -> Vec<u8> {
        std::fs::read(self.site.place.image("volumes", &volume.id)).unwrap()
    }

    /// The word at a place in an image.
    pub fn word(&self, volume: &Volume, offset: u64, length: usize) -> Vec<u8> {
        let mut word = vec![0; length];
        let image = std::fs::File::open(self.site.place.image("volumes", &volume.id)).unwrap();
        image.read_exact_at(&mut word, offset).unwrap();
        word
    }

    /// Writes into an image, as a workload does through its device.
    pub fn write(&self, volume: &Volume, offset: u64, bytes: &[u8]) {
        let path = self.site.place.image("volumes", &volume.id);
        let image = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        image.write_all_at(bytes, offset).unwrap();
        image.sync_all().unwrap();
    }
}

/// A volume as a source.
pub fn source(volume: &Volume) -> Json {
    json!({ "volume": { "volumeId": volume.id } })
}

/// A group as a source.
pub fn group_source(id: &str) -> Json {
    json!({ "volumegroup": { "volumeGroupId": id } })
}

/// A snapshot as a source.
pub fn snapshot_source(id: &str) -> Json {
    json!({ "volumesnapshot": { "volumeSnapshotId": id } })
}

/// Tries again until there is something.
pub async fn until<T, F: Future<Output = Option<T>>>(mut attempt: impl FnMut() -> F, otherwise: &str) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{otherwise}");
        tokio::time::sleep(AGAIN).await;
    }
}

/// Repeats a call while it is not time for it yet, as controllers do.
pub async fn repeated<T, F: Future<Output = Result<T, Status>>>(mut call: impl FnMut() -> F) -> T {
    let begin = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(status) => {
                let later = [Code::Unavailable, Code::Aborted, Code::NotFound].contains(&status.code());
                assert!(later && begin.elapsed() < PATIENCE, "{status:?}");
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Repeats a call whose bytes are on their way.
pub async fn repeated_while_unavailable<T, F: Future<Output = Result<T, Status>>>(mut call: impl FnMut() -> F) -> T {
    let done = until(
        || {
            let asked = call();
            async { Some(asked.await).filter(|answer| !matches!(answer, Err(s) if s.code() == Code::Unavailable)) }
        },
        "it is never there",
    );
    done.await.unwrap_or_else(|status| panic!("{status:?}"))
}

/// Whether a file is there.
pub fn is_there(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", path.display());
            false
        }
    }
}
