//! Instructions for the test backend, and what it remembers: requests for volumes with special names
//! (guests/tester). Every one is a change like any other, so the host asks for due work after it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::{TestHost, requests};

impl TestHost {
    /// Sends `set:KEY`, `unset:KEY` and `get:PREFIX` pairs; gives the entries that were asked for.
    pub async fn control(&self, wishes: &[(&str, &str)]) -> BTreeMap<String, String> {
        self.control_as(&self.control_name(), wishes).await
    }

    fn control_name(&self) -> String {
        format!("control-{}", self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn control_as(&self, name: &str, wishes: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut request = requests::create(name);
        request.parameters = wishes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let answer = self.controller().await.create_volume(request).await.expect("control requests succeed");
        answer.into_inner().volume.unwrap().volume_context
    }

    /// What the backend shall do in every call of an operation on an object.
    pub async fn instruct(&self, operation: &str, object: &str, word: &str) {
        self.control(&[(&format!("set:act/{operation}/{object}"), word)]).await;
    }

    /// Lets calls go on that `hold` this gate.
    pub async fn open(&self, gate: &str) {
        self.control(&[(&format!("set:gate/{gate}"), "open")]).await;
    }

    /// How many steps of a work were begun, ever.
    pub async fn steps(&self, work: &str) -> u64 {
        let key = format!("steps/{work}");
        let entries = self.control(&[(&format!("get:{key}"), "")]).await;
        entries.get(&key).map_or(0, |count| count.parse().unwrap())
    }

    /// Waits until the backend was entered for the `count`th time with this operation and object.
    pub async fn entered(&self, call: &str, count: usize) {
        self.log.wait(&format!("entered {call}"), count).await;
    }

    /// How often it was entered so by the calls that were answered by now: what a later one says has
    /// been read.
    pub async fn entries_so_far(&self, call: &str) -> usize {
        let name = self.control_name();
        self.control_as(&name, &[]).await;
        self.log.wait(&format!("carries out {name} "), 1).await;
        self.entries(call)
    }

    /// How often it was entered so, as far as the log has been read.
    pub fn entries(&self, call: &str) -> usize {
        self.log.with(&format!("entered {call}")).len()
    }

    /// Makes volumes.
    pub async fn create(&self, names: &[&str]) {
        let mut client = self.controller().await;
        for name in names {
            client.create_volume(requests::create(name)).await.expect("a plain volume can be made");
        }
    }
}
