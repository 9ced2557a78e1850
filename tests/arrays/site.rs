//! An array process with a host that serves `guests/array` on it, and calls as JSON. A call that must
//! succeed later is repeated, as sidecars do.

use std::path::Path;
use std::time::{Duration, Instant};

use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::{Value as Json, json};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::process::{ArrayProcess, Plan};
use crate::support::{Guest, Options, TestHost, wire};

/// Between two attempts, doubled each time up to the second one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(160));

/// How long a call waits, if nothing else is said.
pub const LONG: Duration = Duration::from_mins(1);

/// How long a call is repeated, and how long anything else may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// An array and its host. The host goes first.
#[derive(Debug)]
pub struct Site {
    pub host: TestHost,
    pub array: ArrayProcess,
    channel: Channel,
    contracts: DescriptorPool,
    secrets: Json,
}

/// What differs between tests.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    pub program: &'a Path,
    pub user: &'a str,
    pub password: &'a str,
    pub log: &'static str,
}

/// What became of a call, and how often it was made.
#[derive(Debug)]
pub struct Told {
    pub answer: Result<Json, Status>,
    pub attempts: u64,
}

impl Setup<'_> {
    /// Two sites whose arrays replicate to each other.
    pub async fn pair(&self) -> (Site, Site) {
        let (a, b) = (Plan::new(), Plan::new());
        let [to_b, to_a] = [&b, &a].map(|peer| [peer.url(), peer.file("ca.pem")]);
        tokio::join!(self.linked(a, to_b), self.linked(b, to_a))
    }

    /// One site whose array has no other one.
    pub async fn alone(&self) -> Site {
        self.site(Plan::new(), &[]).await
    }

    async fn linked(&self, plan: Plan, [peer, peer_ca]: [String; 2]) -> Site {
        self.site(plan, &["--peer", &peer, "--peer-ca", &peer_ca, "--link-secret", "c4n4ry~link"]).await
    }

    async fn site(&self, plan: Plan, link: &[&str]) -> Site {
        let user = format!("{}:{}", self.user, self.password);
        let array = ArrayProcess::start(self.program, plan, &user, link).await;
        let files = ["ca", "client", "client-key"].map(|name| array.file(&format!("{name}.pem")));
        let grant = format!(
            "http = [{{ origin = \"{}\", login = [\"/v1/session\"], ca = \"{}\", certificate = \"{}\", key = \"{}\" }}]",
            array.url(),
            files[0],
            files[1],
            files[2]
        );
        let options = Options::default().setting("url", &array.url()).grant(&grant).with_addons().log(self.log);
        let options = options.backend("node-id = \"worker-1\"");
        // Connections may take long on a busy machine, and no line of the log may be missing.
        let options = options.limit("http-connect-time", "30s").limit("log-burst", "8MiB");
        let host = TestHost::start(Guest("array"), options).await;
        let (channel, contracts) = (host.connect().await, wire::contracts());
        let secrets = json!({ "user": self.user, "password": self.password });
        Site { host, array, channel, contracts, secrets }
    }
}

impl Site {
    pub fn method(&self, path: &str) -> MethodDescriptor {
        let (service, name) = path.split_once('/').unwrap();
        let service = self.contracts.get_service_by_name(service).expect(service);
        service.methods().find(|method| method.name() == name).expect(name)
    }

    /// One attempt of `service/Method`, with the right secrets where it takes some and the request has none.
    pub async fn try_ask(&self, path: &str, request: &Json, within: Duration) -> Result<Json, Status> {
        let (method, mut request) = (self.method(path), request.clone());
        if method.input().get_field_by_name("secrets").is_some() && request["secrets"].is_null() {
            request["secrets"] = self.secrets.clone();
        }
        let request = DynamicMessage::deserialize(method.input(), request).expect("a request of this method");
        let answers = wire::call_within(self.channel.clone(), &method, &request, Some(within)).await?;
        Ok(answers.last().map_or(Json::Null, |answer| serde_json::to_value(answer).unwrap()))
    }

    /// Asks until the answer is final. The first attempt waits so long; later ones have patience.
    pub async fn ask(&self, path: &str, request: &Json, first: Duration) -> Told {
        let (ends, mut pause, mut attempts) = (Instant::now() + PATIENCE, PAUSES.0, 0);
        loop {
            attempts += 1;
            let within = if attempts == 1 { first } else { LONG };
            let answer = self.try_ask(path, request, within).await;
            let Err(status) = &answer else { return Told { answer, attempts } };
            if !is_passing(status.code()) {
                return Told { answer, attempts };
            }
            assert!(Instant::now() < ends, "{path} {request} stays {status:?}");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// A call that must succeed.
    pub async fn ok(&self, path: &str, request: Json) -> Json {
        let told = self.ask(path, &request, LONG).await;
        told.answer.unwrap_or_else(|status| panic!("{path} {request}: {status:?}"))
    }
}

/// Waits for something that takes as long as it takes, but not for ever.
pub async fn patiently<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.unwrap_or_else(|_| panic!("{what} does not come"))
}

/// Whether clients repeat a call that had this code, with the same arguments. `Cancelled` is the client's own
/// word for an answer that it did not wait for.
fn is_passing(code: Code) -> bool {
    use Code::{Aborted, Cancelled, DeadlineExceeded, ResourceExhausted, Unavailable};
    matches!(code, Unavailable | Aborted | DeadlineExceeded | Cancelled | ResourceExhausted)
}
