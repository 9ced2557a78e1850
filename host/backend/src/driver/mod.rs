//! The driver of one backend's generations: one task that hears what happens, asks the lifecycle, and
//! carries out what it says. Decides nothing. Why one task: the order in which things happen to a backend
//! is then the order of its messages, and no lock is held across a step.

mod control;
mod effects;
mod instead;
mod keep;
mod rollout;
mod staging;
mod state;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub use self::control::{Command, Control, Wait};
use self::control::{Message, Reply};
use self::keep::Keep;
use super::gate::{Refusal, RefusalId};
use super::lifecycle::{
    At, Candidate, Force, Input, Lifecycle, LoadReason, Number, Phase, Recipe, Rollout, Terms, Ticket,
};
use super::refused::Refused;
use super::rollout::Shadow;
use super::schedule::millis;
use super::watch::Watch;
use super::{Backend, Component, Environment, Generation, Source, Status, environment};
use drivebay_files::descriptors::OpenFiles;
use drivebay_files::{Jobs, Reaches};
use drivebay_policy::limits::Limits;
use drivebay_policy::{BackendConfig, ComponentSource};
use drivebay_sandbox::loading::Loader;
use drivebay_signature as signature;

/// While nothing serves, what was refused is tried again after this; the pause doubles up to `LONGEST`.
const AGAIN: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);

/// A generation that is being made or is there.
#[derive(Debug)]
struct Held {
    recipe: Recipe,
    generation: Option<Arc<Generation>>,
}

/// Why and how the operator wants to run what is configured.
struct LoadRequest {
    why: LoadReason,
    force: Force,
    manner: Rollout,
    ticket: Option<Ticket>,
}

impl LoadRequest {
    fn of(why: LoadReason) -> Self {
        Self { why, force: Force::No, manner: Rollout::default(), ticket: None }
    }

    fn candidate(self, recipe: Recipe) -> Candidate {
        let Self { why, force, manner, ticket } = self;
        Candidate { recipe, why, force, manner, ticket }
    }
}

/// What the operator wanted before a command, if that command is refused.
struct Previous {
    ticket: Ticket,
    config: Arc<BackendConfig>,
    code: Option<String>,
}

struct Driver {
    backend: Arc<Backend>,
    environment: Environment,
    /// What the operator has written down.
    configured: Arc<BackendConfig>,
    /// What the operator wants: that, or since then another component by a command.
    config: Arc<BackendConfig>,
    /// What that was before the command that named another component and is not answered yet.
    before: Option<Previous>,
    /// The digest of the configured file, once it was read.
    code: Option<String>,
    machine: Lifecycle,
    held: BTreeMap<Number, Held>,
    keep: Keep,
    jobs: Jobs,
    open_files: OpenFiles,
    reaches: Reaches,
    /// The engine of these limits.
    engine: Option<(Limits, Loader)>,
    watches: Vec<Watch>,
    /// How often what is watched has changed.
    turn: u64,
    /// The shadow that has just ended.
    shadowed: Option<Arc<Shadow>>,
    asked: HashMap<Ticket, Reply>,
    tickets: u64,
    begin: Instant,
    own: mpsc::UnboundedSender<Message>,
    /// The task that waits for the first outcome.
    first: Option<oneshot::Sender<Result<(), Refusal>>>,
    /// The last refusal.
    refusal: Option<Refusal>,
    /// The number of the last refusal that was said.
    told: Option<Number>,
    /// Recovery, probes and background work have begun.
    lives: bool,
    again: (Instant, Duration),
}

/// Starts a backend: its driver, and the first generation. The last part resolves when something serves or the first
/// attempt was refused; the driver goes on in both cases, and the owner of the backend can end it earlier.
pub async fn start(
    config: BackendConfig,
    environment: &Environment,
) -> (Arc<Backend>, Control, impl Future<Output = Result<(), Refusal>> + Send + use<>) {
    let config = Arc::new(config);
    let backend = Arc::new(Backend::new(Arc::clone(&config)));
    let (own, messages) = mpsc::unbounded_channel();
    let (first, outcome) = oneshot::channel();
    let keep = Keep::new(&config.name, environment);
    let machine = Lifecycle::new(terms(&config), keep.memory().await);
    // What was refused in an earlier life was said then.
    let told = machine.memory().last_refusal().map(|entry| entry.number);
    let driver = Driver {
        backend: Arc::clone(&backend),
        environment: environment.clone(),
        before: None,
        code: None,
        machine,
        held: BTreeMap::new(),
        jobs: environment::jobs(&config),
        open_files: OpenFiles::new(environment::most_open(&config)),
        reaches: Reaches::default(),
        keep,
        engine: None,
        watches: Vec::new(),
        turn: 0,
        shadowed: None,
        asked: HashMap::new(),
        tickets: 0,
        begin: Instant::now(),
        own: own.clone(),
        first: Some(first),
        refusal: None,
        told,
        lives: false,
        again: (Instant::now() + AGAIN, AGAIN),
        configured: Arc::clone(&config),
        config,
    };
    backend.detach(driver.run(messages));
    let gone = || Refusal::new(RefusalId::Host, "the backend's driver has ended");
    (backend, Control(own), async move { outcome.await.unwrap_or_else(|_| Err(gone())) })
}

impl Driver {
    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        self.keep.forget_copies(None).await;
        self.look(LoadRequest::of(LoadReason::Start)).await;
        self.watch();
        let backend = Arc::clone(&self.backend);
        loop {
            self.tell_first();
            let wake = self.wake();
            tokio::select! {
                () = backend.closing() => return,
                message = messages.recv() => match message {
                    Some(message) => self.hear(message).await,
                    None => return,
                },
                () = backend.bad_end.notified() => self.observe().await,
                () = tokio::time::sleep_until(wake) => self.tick().await,
            }
        }
    }

    async fn hear(&mut self, message: Message) {
        match message {
            // Of a file that is not meant any more; it was told before its watch was given up.
            Message::AtRest(turn, _) | Message::Signed(turn) if turn != self.turn => {}
            // The driver's own look was before.
            Message::AtRest(_, code) if self.code.as_ref() == Some(&code) => {}
            Message::AtRest(_, code) => {
                self.code = Some(code);
                self.offer(LoadRequest::of(LoadReason::File)).await;
            }
            Message::Signed(_) => self.offer(LoadRequest::of(LoadReason::File)).await,
            Message::Configured(config) => self.configure(*config).await,
            Message::Command(command, reply) => self.obey(command, reply).await,
            Message::Staged(number, Ok(generation)) => {
                let profile = generation.profile();
                if let Some(held) = self.held.get_mut(&number) {
                    held.generation = Some(generation);
                }
                self.step(Input::Staged(number, profile)).await;
            }
            Message::Staged(number, Err(refusal)) => self.step(Input::Refused(number, refusal)).await,
            // It served again in between, and drains anew.
            Message::Ended(Input::Drained(number)) if self.machine.is_draining(number) && !self.is_idle(number) => {
                self.wait_for_calls(number);
            }
            Message::Ended(Input::NotRestored(number, why)) => {
                self.serves_on(number);
                self.step(Input::NotRestored(number, why)).await;
            }
            Message::Ended(input) => self.step(input).await,
        }
    }

    fn is_idle(&self, number: Number) -> bool {
        let held = self.held.get(&number).and_then(|held| held.generation.as_ref());
        held.is_none_or(|generation| generation.is_idle())
    }

    /// Takes over what the operator wants from now on. What has not changed since it was written down takes nothing
    /// back that a command has said: the file may have been read again for something else.
    async fn configure(&mut self, config: BackendConfig) {
        if config == *self.configured {
            return;
        }
        let moved = config.component != self.config.component || config.signers != self.config.signers;
        self.configured = Arc::new(config);
        self.before = None;
        self.config = Arc::clone(&self.configured);
        self.backend.config.store(Arc::clone(&self.config));
        self.machine.set_terms(terms(&self.config));
        if moved {
            self.watch();
        }
        self.look(LoadRequest::of(LoadReason::Configuration)).await;
    }

    async fn obey(&mut self, command: Command, reply: Reply) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let wait = match command {
            Command::Reload { wait, .. } => wait,
            Command::Rollback(_) | Command::Pin(_) | Command::Close(_) => Wait::Outcome,
        };
        self.asked.insert(ticket, reply);
        match command {
            Command::Reload { component, force, manner, .. } => {
                if let Some(path) = component {
                    self.try_instead(ticket, path);
                }
                self.look(LoadRequest { why: LoadReason::Reload, force, manner, ticket: Some(ticket) }).await;
            }
            Command::Rollback(force) => self.step(Input::Rollback(force, ticket)).await,
            Command::Pin(code) => {
                self.step(Input::Pin(code, ticket)).await;
                // What was held back may be allowed now.
                self.offer(LoadRequest::of(LoadReason::File)).await;
            }
            Command::Close(intake) => self.step(Input::Close(intake, ticket)).await,
        }
        if wait == Wait::Nothing
            && let Some(reply) = self.asked.remove(&ticket)
        {
            // The caller may have gone away.
            let _ = reply.send(Ok("it is being staged".to_owned()));
        }
    }

    /// Reads the configured file and offers what it is.
    async fn look(&mut self, wish: LoadRequest) {
        match Component::read(&self.config.component, self.environment.local).await {
            Ok(component) => {
                self.code = Some(component.digest);
                self.offer(wish).await;
            }
            Err(refused) => self.unreadable(wish, refused).await,
        }
    }

    /// What cannot be read has no digest: it stands in the history all the same.
    async fn unreadable(&mut self, wish: LoadRequest, refused: Refused) {
        self.code = None;
        let candidate = wish.candidate(self.recipe("unreadable"));
        self.step(Input::Unread(candidate, refused.refusal())).await;
    }

    /// Offers the configured file as it was read last, with the present configuration.
    async fn offer(&mut self, wish: LoadRequest) {
        if let Some(code) = self.code.clone() {
            let recipe = self.recipe(&code);
            self.step(Input::Found(wish.candidate(recipe))).await;
        }
    }

    fn recipe(&self, code: &str) -> Recipe {
        Recipe { code: code.to_owned(), given: keep::fingerprint(&self.config.given()) }
    }

    /// Watches the configured file, and its signature where one is demanded.
    fn watch(&mut self) {
        self.watches.clear();
        self.turn += 1;
        let turn = self.turn;
        let ComponentSource::File(path) = &self.config.component else { return };
        let own = self.own.clone();
        self.watches.push(Watch::start(path, move |digest| {
            let _ = own.send(Message::AtRest(turn, digest));
        }));
        if !self.config.signers.is_empty() {
            for signature in [signature::beside(path), signature::bundle_beside(path)] {
                let own = self.own.clone();
                self.watches.push(Watch::start(&signature, move |_| {
                    let _ = own.send(Message::Signed(turn));
                }));
            }
        }
    }

    async fn tick(&mut self) {
        if self.serves_nothing() && Instant::now() >= self.again.0 {
            let pause = (self.again.1 * 2).min(LONGEST);
            self.again = (Instant::now() + pause, pause);
            self.look(LoadRequest::of(LoadReason::File)).await;
        }
        self.step(Input::Tick).await;
    }

    fn serves_nothing(&self) -> bool {
        self.machine.active().is_none() && *self.machine.phase() == Phase::Idle
    }

    fn wake(&self) -> Instant {
        let own = self.machine.next().map(|at| self.begin + Duration::from_millis(at));
        let again = self.serves_nothing().then_some(self.again.0);
        own.into_iter().chain(again).min().unwrap_or_else(|| Instant::now() + LONGEST)
    }

    /// Answers the task that waits for the first outcome.
    fn tell_first(&mut self) {
        let outcome = if self.machine.active().is_some() {
            Ok(())
        } else if self.serves_nothing() {
            let unknown = || Refusal::new(RefusalId::Host, "nothing was found to serve");
            Err(self.refusal.clone().unwrap_or_else(unknown))
        } else {
            return;
        };
        if let Some(first) = self.first.take() {
            let _ = first.send(outcome);
        }
    }

    fn at(&self) -> At {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        At { now: millis(self.begin.elapsed()), wall: millis(wall) }
    }
}

fn terms(config: &BackendConfig) -> Terms {
    Terms { drain: millis(config.drain), trial: millis(config.trial) }
}
