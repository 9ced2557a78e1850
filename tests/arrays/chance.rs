//! Many operations on two sites, while one request of ten meets a fault: slow, 500, an answer that is
//! lost after the work was done, an expired token, a full pool, a partition. At the end the arrays hold
//! exactly what clients were told, and then nothing. `DRIVEBAY_OPERATIONS` says how many, `DRIVEBAY_SEED`
//! makes other choices; without it they are the same each time, which of two clients is first aside.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value as Json, json};
use tokio_util::task::TaskTracker;

use super::client::{Client, Tally};
use super::process::{ArrayProcess, program};
use super::site::{Setup, Site, patiently};

/// As many clients at the same time, each with names of its own.
const CLIENTS: usize = 12;

/// Of a thousand requests to the array, so many meet a fault.
const FAULTS: u64 = 100;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect(variable))
}

/// What the array's other door tells of faults.
struct Faults {
    requests: u64,
    met: BTreeMap<String, u64>,
}

impl Faults {
    async fn of(array: &ArrayProcess) -> Self {
        let faults = array.ask("GET", "/faults", &Json::Null).await["seen"].clone();
        Self {
            requests: faults["requests"].as_u64().unwrap(),
            met: serde_json::from_value(faults["met"].clone()).unwrap(),
        }
    }

    /// About one of ten has met a fault, and every kind has happened.
    fn check(&self) {
        let met: u64 = self.met.values().sum();
        assert!(met * 1_000 >= self.requests * FAULTS / 2, "{met} of {} requests met a fault", self.requests);
        assert_eq!(self.met.len(), 8, "{:?}", self.met);
    }
}

async fn names(site: &Site, kind: &str) -> Vec<String> {
    let all = site.array.objects(kind).await;
    all.iter().map(|object| object["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What the arrays have is what clients were told: nothing leaked, nothing doubled, nothing lost.
async fn reconcile(a: &Site, b: &Site, clients: &[Client]) {
    for kind in ["volume", "group", "group snapshot", "snapshot"] {
        let mut present = names(a, kind).await;
        let mut expected: Vec<_> = clients.iter().flat_map(|client| client.names(kind)).collect();
        if kind == "snapshot" {
            // Those of a group have names that the array gave them.
            let members: usize = clients.iter().map(Client::cut_members).sum();
            assert_eq!(present.len(), expected.len() + members, "{present:?}");
            present.retain(|name| name.starts_with("csi:"));
        }
        present.sort();
        expected.sort();
        assert_eq!(present, expected, "{kind}");
    }
    for (site, kind) in [(a, "replication"), (b, "replication"), (b, "volume")] {
        assert_eq!(names(site, kind).await, [""; 0], "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_leaked_or_doubled_under_random_faults() {
    let Some(program) = program() else { return };
    let operations = number("DRIVEBAY_OPERATIONS").unwrap_or(300);
    let seed = number("DRIVEBAY_SEED").unwrap_or(7);
    println!("DRIVEBAY_SEED={seed} DRIVEBAY_OPERATIONS={operations}");
    let setup = Setup { program: &program, user: "csi", password: "right-password", log: "info" };
    let (a, b) = setup.pair().await;
    let (a, b) = (Arc::new(a), Arc::new(b));
    for (site, seed) in [(&a, seed), (&b, seed + 1)] {
        let chance = json!({ "per_mille": FAULTS, "seed": seed, "milliseconds": 40 });
        site.array.ask("PUT", "/chance", &chance).await;
    }
    let began = Instant::now();
    let tasks = TaskTracker::new();
    let work = (0..CLIENTS).map(|own| {
        let mut client = Client::new(&a, &b, own, seed);
        let share = operations / CLIENTS as u64 + u64::from((own as u64) < operations % CLIENTS as u64);
        tasks.spawn(async move {
            for _ in 0..share {
                client.step().await;
            }
            client
        })
    });
    let mut clients = Vec::new();
    for client in work.collect::<Vec<_>>() {
        clients.push(client.await.unwrap());
    }
    let took = began.elapsed();
    let faults = [Faults::of(&a.array).await, Faults::of(&b.array).await];
    for site in [&a, &b] {
        site.array.ask("DELETE", "/faults", &Json::Null).await;
    }
    for client in &mut clients {
        patiently("the end of a replication", client.end_pair()).await;
    }
    reconcile(&a, &b, &clients).await;
    for client in &mut clients {
        client.end().await;
    }
    for site in [&a, &b] {
        let left = site.array.ask("GET", "/inventory", &Json::Null).await;
        assert!(left.as_object().unwrap().values().all(|names| names == &json!([])), "{left}");
        assert!(site.host.log.with("crashed").is_empty(), "{}", site.host.log.tail());
    }
    tell(&clients, &faults, took);
    faults[0].check();
}

fn tell(clients: &[Client], faults: &[Faults], took: std::time::Duration) {
    let mut all = Tally::default();
    for Tally { done, repeated, refused } in clients.iter().map(|client| client.tally.clone()) {
        for (name, count) in done {
            *all.done.entry(name).or_default() += count;
        }
        all.repeated += repeated;
        all.refused += refused;
    }
    println!(
        "operations took {} s; calls {:?}, repeated {}, refused {}",
        took.as_secs(),
        all.done,
        all.repeated,
        all.refused
    );
    for one in faults {
        println!("{} requests; faults {:?}", one.requests, one.met);
    }
}
