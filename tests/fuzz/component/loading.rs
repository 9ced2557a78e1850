//! Files on their way to a backend, as `check` and the loader meet them: what is no component, what no host can run, what
//! answers nonsense when it is asked who it is. A refusal has words that forge no line and stay short, and is never the host's
//! own trouble; what is accepted keeps the contract by a second reading of the file, and what keeps it is not refused for its
//! form. The engine is in it, and compiling happens in a process of its own: this program started anew.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use drivebay_backend::gate::RefusalId;
use drivebay_backend::{Environment, Inspection, inspect};
use drivebay_observe::text::tame;
use drivebay_policy::limits::Limits;
use drivebay_policy::{
    BackendConfig, BackgroundConfig, ComponentSource, DRAIN, Grants, InstancePolicy, SOCKET_MODE, Sockets, TRIAL,
};
use drivebay_sandbox::fault::FaultKind;
use drivebay_state::EmbeddedStores;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::made;
use crate::maker::Maker;
use crate::reading::{self, Reading};

/// Bytes of the longest words of a refusal, advice included.
const WORDS: usize = 4608;
/// Bytes of the longest name that is shown.
const NAME: usize = 260;
/// Begin of a component, of a core module, of what is compiled already, and of what comes one day.
const HEADS: [&[u8]; 4] = [b"\0asm\x0d\0\x01\0", b"\0asm\x01\0\0\0", b"\x7fELF\x02\x01\x01\0", b"\0asm\x0e\0\x01\0"];

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

/// Where files are looked at.
struct Place {
    file: PathBuf,
    environment: Environment,
    _directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("fuzz").tempdir().expect("a directory");
        let stores = Arc::new(EmbeddedStores::open(directory.path()).expect("an empty state"));
        let environment = Environment {
            local: &[],
            stores,
            cache: None,
            components: None,
            node: None,
            in_force: None,
            boundary: None,
        };
        Self { file: directory.path().join("backend.wasm"), environment, _directory: directory }
    }
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut maker = Maker::new(bytes, &[]);
    let file = file(&mut maker, bytes);
    let is_whole = file.starts_with(HEADS[0]);
    std::fs::write(&PLACE.file, &file).expect("a place of ours");
    let found = RUNTIME.block_on(inspect(config(), &PLACE.environment)).expect("a file that is there");
    let second = reading::read(&file);
    shown(&found);
    let objection = second.as_ref().map_or_else(|| Some("it is no component".to_owned()), Reading::objection);
    match found.refused.as_ref().map(drivebay_backend::Refused::refusal) {
        Some(refusal) if planted() && refusal.id == RefusalId::Contract => accepted(&objection),
        None => accepted(&objection),
        Some(refusal) => {
            let words = refusal.to_string();
            assert!(words.len() <= WORDS && tame(&words, WORDS) == words, "{words:?}");
            // The host's own trouble is not the component's doing, and the other way round.
            let is_ours = words.contains(FaultKind::Host.words());
            assert!(!is_ours && ![RefusalId::Surroundings, RefusalId::Host].contains(&refusal.id), "{words}");
            let form = [RefusalId::Broken, RefusalId::Foreign, RefusalId::Contract, RefusalId::Costly];
            let is_form = form.contains(&refusal.id);
            assert_eq!(is_form, objection.is_some(), "{words}; but a second reading says {objection:?}");
            assert!(second.is_some() || !is_whole || refusal.id == RefusalId::Broken, "{words}");
        }
    }
}

/// The planted bug: a host that does not look at types accepts what has others.
fn planted() -> bool {
    static PLANTED: OnceLock<bool> = OnceLock::new();
    *PLANTED.get_or_init(|| std::env::var_os("DRIVEBAY_PLANTED").is_some())
}

fn accepted(objection: &Option<String>) {
    assert_eq!(objection, &None, "it is accepted");
}

/// A file: bytes as they are once in a while, otherwise a component that is made of them.
fn file(maker: &mut Maker<'_>, bytes: &[u8]) -> Vec<u8> {
    match maker.below(16) {
        15 => bytes.get(1..).unwrap_or_default().to_vec(),
        how => {
            let mut file = made::plan(maker).encode(maker);
            if how >= 13 {
                damage(&mut file, maker);
            }
            file
        }
    }
}

/// Does something to a file.
fn damage(file: &mut Vec<u8>, maker: &mut Maker<'_>) {
    let at = usize::try_from(maker.number()).unwrap_or_default() % file.len();
    match maker.below(4) {
        0 => file.truncate(at),
        1 => file[..8].copy_from_slice(HEADS[maker.below(HEADS.len())]),
        2 => file.extend(maker.text().bytes()),
        _ => file[at] ^= 1 << maker.below(8),
    }
}

/// What is shown of it forges no line, however it ends.
fn shown(found: &Inspection) {
    let names = found.shape.iter().flat_map(|shape| shape.imports.iter().chain(&shape.exports));
    for name in names {
        assert!(name.len() <= NAME && tame(name, NAME) == *name, "{name:?}");
    }
    let Some(described) = &found.described else { return };
    let facts = described.backend.generation().map(|generation| generation.facts.clone());
    let wants = described.wants.iter().flat_map(|want| [&want.grant, &want.why]);
    let own = facts.iter().flat_map(|facts| [&facts.name, &facts.version].into_iter().chain(&facts.missing));
    for words in wants.chain(&described.unknown_features).chain(own) {
        assert!(words.len() <= WORDS && tame(words, WORDS) == *words, "{words:?}");
    }
}

/// The configuration of a component that is looked at by itself, with little of everything.
fn config() -> BackendConfig {
    let limits = Limits { calls: 1, memory: 1 << 20, cpu: Duration::from_secs(2), ..Limits::default() };
    BackendConfig {
        name: "fuzz".to_owned(),
        component: ComponentSource::File(PLACE.file.clone()),
        package: None,
        sockets: Sockets { mode: SOCKET_MODE, ..Sockets::default() },
        node_id: Some("fuzz".to_owned()),
        settings: Vec::new(),
        alpha: true,
        legacy_condition: false,
        digest: None,
        signers: Vec::new(),
        grants: Grants::default(),
        limits,
        instances: InstancePolicy::Fresh,
        drain: DRAIN,
        trial: TRIAL,
        background: BackgroundConfig::default(),
    }
}
