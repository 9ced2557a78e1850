//! The puller: a process that speaks to one registry about one package, with no rights and nothing to read. What it writes
//! goes to its standard output, a file that the keeper has opened; what it says, to its standard error, as one line of
//! JSON. Nothing that it says is believed without a digest.

use std::fs::File;
use std::io::{Read as _, Write};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use drivebay_confine as confine;
use drivebay_policy::package::Reference;
use rustix::thread::{Gid, Uid};

use super::words::{Pull, Pulled};
use crate::artifact::{checked, sha256};
use crate::store::Store;

/// Bytes of the largest component, as the host has it.
const LARGEST: u64 = 256 << 20;
/// Bytes of the largest order: a credential and some authorities.
const LARGEST_ORDER: u64 = 16 << 20;
/// For all of a fetch: a registry that gives a byte now and then must not keep the next package waiting for ever.
const LONGEST: Duration = Duration::from_mins(10);
/// Nobody, as every system has it.
const NOBODY: u32 = 65534;

/// Runs a puller to its end.
pub fn main() -> ExitCode {
    let pulled = run().map_err(|error| format!("{error:#}"));
    let is_done = pulled.is_ok();
    let text = serde_json::to_vec(&pulled).unwrap_or_default();
    match std::io::stderr().write_all(&text) {
        Ok(()) if is_done => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run() -> Result<Pulled> {
    let mut order = Vec::new();
    std::io::stdin().take(LARGEST_ORDER).read_to_end(&mut order).context("hearing the keeper")?;
    let Pull { access, reference, have } = serde_json::from_slice(&order).context("hearing the keeper")?;
    let reference: Reference = reference.parse().map_err(|words| anyhow!("{words}"))?;
    // Authorities of the system may be root's to read.
    let store = Store::registry(access)?;
    give_up()?;
    super::die_with_parent()?;
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    of_store(&store, &reference, have.as_deref(), out)
}

/// Another user, no capabilities, nothing that could be written or started, and few system calls.
fn give_up() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        // In a container without the right to, it stays root without rights.
        let _ = rustix::thread::set_thread_groups(&[]);
        let _ = rustix::thread::set_thread_res_gid(group, group, group);
        let _ = rustix::thread::set_thread_res_uid(user, user, user);
    }
    confine::guests(&confine::Given::default()).map(drop).context("rights that are not needed cannot be given up")
}

/// Fetches a package: its component to `out`, unless it is the one that is there.
///
/// # Errors
/// What is wrong, in words for the operator.
pub(super) fn of_store(store: &Store, reference: &Reference, have: Option<&str>, mut out: File) -> Result<Pulled> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let fetching = async {
        let manifest = store.manifest(reference).await?;
        let component = checked(&manifest, reference.digest.as_deref())?;
        if component.size > LARGEST {
            bail!("its component has {} bytes; at most {LARGEST} are allowed", component.size);
        }
        let digest = sha256(&manifest);
        let vouching = store.vouching(&digest).await.context("its signatures")?;
        let has_component = have != Some(&digest);
        if has_component {
            store.blob(&component, |part| out.write_all(part).context("writing its component")).await?;
        }
        Ok(Pulled { manifest, vouching, has_component })
    };
    runtime.block_on(async {
        let fetched = tokio::time::timeout(LONGEST, fetching).await;
        fetched.unwrap_or_else(|_| bail!("it took more than {} minutes", LONGEST.as_secs() / 60))
    })
}
