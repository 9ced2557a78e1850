//! An in-memory storage driver that keeps every rule of the conformance suite and breaks the one that it is
//! told to break. It exists so that each rule of the suite can be seen to fail; it stores nothing, and must
//! share no code with the suite, whose mistakes it would repeat otherwise.

#[allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    unused_qualifications,
    missing_debug_implementations,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    rustdoc::all,
    reason = "generated from proto/"
)]
mod pb;

mod call;
mod checks;
mod layout;
mod lies;
mod locks;
mod options;
mod refusal;
mod rpc;
mod serve;
#[cfg(test)]
mod tests;
mod world;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use call::{Endpoint, Role, Shared};
use layout::Layout;
use lies::{LIES, Lies};
use locks::Locks;
use options::{Options, Shape};
use serve::{Door, Patience};
use world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    let run = if options.list { list() } else { run(&options) };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when this fails, too.
            let _ = writeln!(std::io::stderr(), "liar: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    LIES.iter().try_for_each(|(id, sentence)| Ok(writeln!(out, "{id}\t{sentence}")?))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn run(options: &Options) -> Result<()> {
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let shared = shared(options);
    let doors = doors(options, &shared)?;
    let end = CancellationToken::new();
    let serving = serve::all(doors, &end);
    writeln!(std::io::stdout(), "ready")?;
    let told = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
        end.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = serving => ended?,
        () = told => {}
    }
    let left = shared.world.lock().unwrap_or_else(PoisonError::into_inner).made();
    // A test that wants to know reads it.
    let _ = writeln!(std::io::stdout(), "left {left}");
    Ok(())
}

/// The state of a run.
fn shared(options: &Options) -> Arc<Shared> {
    let split = options.layout == Shape::Split;
    let nodes = options.node.len() + usize::from(!split);
    Arc::new(Shared {
        world: Mutex::new(World::new(nodes, options.existing.as_ref())),
        locks: Locks::default(),
        layout: Layout::new(options),
        lies: Lies::new(options.broken),
        work: Duration::from_millis(options.work),
        stuck: Mutex::default(),
    })
}

/// Binds every socket that the command line names.
fn doors(options: &Options, shared: &Arc<Shared>) -> Result<Vec<Door>> {
    let role = match options.layout {
        Shape::Split => Role::Controller,
        Shape::NodeOnly => Role::Node,
        _ => Role::Unified,
    };
    let patience = Patience::new(options.hang);
    let door = |uri: &String, site, role, node| {
        Door::bind(uri, Endpoint { shared: Arc::clone(shared), site, role, node }, patience.clone())
    };
    let first = usize::from(role != Role::Controller);
    let here = options.csi.iter().chain(&options.addons).map(|uri| door(uri, 0, role, 0));
    let there = options.b_csi.iter().chain(&options.b_addons).map(|uri| door(uri, 1, role, 0));
    let nodes = options.node.iter().enumerate().map(|(number, uri)| door(uri, 0, Role::Node, first + number));
    here.chain(there).chain(nodes).collect()
}
