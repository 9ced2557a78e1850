//! A storage array as a server process: what a vendor's backend speaks to in the tests and on a laptop.
//!
//! REST over TLS, a catalogue in `SQLite`, real blocks in sparse files, replication to a second array,
//! and faults on demand. It knows nothing of CSI and shares no code with the backend that drives it,
//! or both would be wrong in the same way.

mod admin;
mod api;
mod array;
mod blocks;
mod cipher;
pub mod client;
mod faults;
mod keys;
mod luns;
mod model;
mod ops;
mod options;
mod refusal;
mod replica;
mod serve;
mod store;
mod tls;

pub use options::{Account, Options};
pub use refusal::{Code, Refusal};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use array::Array;
use replica::Peer;
use tls::Authority;

/// An array that serves.
#[derive(Debug)]
pub struct Running {
    /// Where it serves HTTPS.
    pub address: SocketAddr,
    /// Where it takes orders for faults, if anywhere.
    pub admin: Option<SocketAddr>,
    array: Arc<Array>,
}

/// Opens an array and serves it, on the runtime that this is called on.
///
/// # Errors
/// Its folder cannot be used, or an address cannot be bound.
pub async fn start(options: Options) -> Result<Running> {
    anyhow::ensure!(
        options.admin.is_none_or(|admin| admin.ip().is_loopback()),
        "--admin has no login: give it a loopback address"
    );
    let (queue, jobs) = mpsc::unbounded_channel();
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    names.extend(options.names.iter().cloned());
    names.push(options.listen.ip().to_string());
    let array = Array::open(options, queue).context("the array cannot be opened")?;
    let authority = Authority::open(&array.options.data).context("its certificates")?;
    let acceptor = TlsAcceptor::from(authority.server(&names)?);
    let listen = array.options.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("{listen} cannot be bound"))?;
    let address = listener.local_addr()?;
    if array.options.fault_rate > 0 {
        let (per_mille, seed) = (array.options.fault_rate, array.options.fault_seed);
        array.faults.roll(Some(faults::Chance { per_mille, seed, milliseconds: 1_000 }));
    }
    let admin = match array.options.admin {
        None => None,
        Some(admin) => {
            let listener = TcpListener::bind(admin).await.with_context(|| format!("{admin} cannot be bound"))?;
            let bound = listener.local_addr()?;
            array.tasks.spawn(serve::serve_admin(Arc::clone(&array), listener));
            Some(bound)
        }
    };
    array.resume_jobs()?;
    array.tasks.spawn(work(Arc::clone(&array), jobs));
    let (own, runtime) = (Arc::clone(&array), tokio::runtime::Handle::current());
    // A thread of its own: copying blocks it.
    array.tasks.spawn_blocking(move || runtime.block_on(own.replicate()));
    array.tasks.spawn(serve::serve(Arc::clone(&array), listener, acceptor));
    Ok(Running { address, admin, array })
}

/// Does jobs, two at a time.
async fn work(array: Arc<Array>, mut jobs: mpsc::UnboundedReceiver<model::Job>) {
    let places = Arc::new(tokio::sync::Semaphore::new(2));
    loop {
        let job = tokio::select! {
            () = array.end.cancelled() => return,
            job = jobs.recv() => job,
        };
        let (Some(job), Ok(place)) = (job, Arc::clone(&places).acquire_owned().await) else {
            return;
        };
        let own = Arc::clone(&array);
        array.tasks.spawn_blocking(move || {
            if let Err(error) = own.do_job(job) {
                own.say(&format!("a job: {error}"));
            }
            drop(place);
        });
    }
}

impl Running {
    /// The address as a URL.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The file of the CA that clients must trust.
    pub fn ca(&self) -> PathBuf {
        self.array.options.data.join("ca.pem")
    }

    /// Names the other array, where its address was not known at the start.
    pub fn set_peer(&self, url: String, ca: PathBuf) {
        *self.array.peer.lock().unwrap_or_else(PoisonError::into_inner) = Some(Peer::new(url, ca));
        self.array.stir.notify_one();
    }

    /// What is there, by kind: the names of objects, and the files of the data.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn inventory(&self) -> Result<std::collections::BTreeMap<&'static str, Vec<String>>, Refusal> {
        self.array.inventory()
    }

    /// Ends all work and waits for it.
    pub async fn stop(self) {
        self.array.end.cancel();
        self.array.tasks.close();
        self.array.tasks.wait().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.array.end.cancel();
    }
}

impl Array {
    /// A line for the process's parent.
    pub(crate) fn say(&self, line: &str) {
        use std::io::Write as _;
        // Nobody is left to tell when this fails, too.
        let _ = writeln!(std::io::stderr(), "{}: {line}", self.serial);
    }
}
