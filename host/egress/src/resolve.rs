//! From a name to its addresses. The one place that asks; what it learns is filtered and then used for one
//! connection, so that nobody asks twice and gets another answer.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Addresses of one name that are looked at; a name has few.
const ADDRESSES: usize = 16;
/// Questions of one backend under way at once: each holds a thread until the system gives up.
const QUESTIONS: usize = 8;

/// What a question comes to.
pub type Answer = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// The addresses of a name.
    fn resolve(&self, name: String) -> Answer;
}

/// As the system does it for every other program: its hosts file, its servers.
#[derive(Debug)]
pub struct System {
    places: Arc<Semaphore>,
    questions: TaskTracker,
}

impl System {
    /// Nobody asked yet.
    pub fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(QUESTIONS)), questions: TaskTracker::new() }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for System {
    fn resolve(&self, name: String) -> Answer {
        let (places, questions) = (Arc::clone(&self.places), self.questions.clone());
        Box::pin(async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            // A task of its own: its thread is busy, and its place taken, also when nobody waits any more.
            let asked = questions.spawn(async move {
                let found = tokio::net::lookup_host((name, 0)).await;
                drop(place);
                found.map(|found| found.map(|address| address.ip()).take(ADDRESSES).collect::<Vec<_>>())
            });
            let mut found = asked.await.map_err(io::Error::other)??;
            found.dedup();
            Ok(found)
        })
    }
}
