//! The parts of a host that are processes of their own: this program started anew by itself, with a word that no
//! person types. Owns those words' arguments; what the parts do is theirs. They hear everything on their command
//! line and on inherited descriptors, and have no log.

#[cfg(feature = "drill")]
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use drivebay_confine::Bounds;
use drivebay_node as node;
#[cfg(feature = "drill")]
use drivebay_observe::drill::{self, Defence};
use drivebay_package as package;
use drivebay_sandbox::{compiling, memory};

use crate::BuiltIn;
use crate::host::read_permissions;
use crate::mounts;
use crate::packages;

/// The words that name the parts.
const WORDS: &[&str] = &[
    compiling::SUBCOMMAND,
    node::LAUNCHER_SUBCOMMAND,
    node::HELPER_SUBCOMMAND,
    node::FABRICS_SUBCOMMAND,
    package::KEEPER_SUBCOMMAND,
    package::PULLER_SUBCOMMAND,
    #[cfg(feature = "drill")]
    drivebay_attack::ATTACKED,
];

#[derive(Debug, Parser)]
struct Order {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Compiles a component.
    #[command(name = compiling::SUBCOMMAND)]
    Compiler {
        /// Which code is wanted.
        engine: String,
        /// Bytes of memory.
        memory: u64,
        /// Seconds of processor time.
        cpu: u64,
        /// Bytes of code.
        output: u64,
        /// Threads.
        threads: usize,
    },
    /// Serves a stage of `attack` without one of the defences.
    #[cfg(feature = "drill")]
    #[command(name = drivebay_attack::ATTACKED)]
    AttackedHost {
        /// What is left away.
        without: Defence,
        /// The configuration, in a directory of the stage.
        config: PathBuf,
    },
    /// Starts the process for node work.
    #[command(name = node::LAUNCHER_SUBCOMMAND)]
    NodeLauncher {
        /// The inherited descriptor.
        descriptor: i32,
    },
    /// Does node work; started by the launcher.
    #[command(name = node::HELPER_SUBCOMMAND)]
    NodeHelper {
        /// The inherited descriptor of the socket.
        descriptor: i32,
        /// That of what it may do.
        mandate: i32,
    },
    /// Hands the words of one connection of NVMe over Fabrics to the kernel; started by the helper.
    #[command(name = node::FABRICS_SUBCOMMAND)]
    NodeFabrics,
    /// Keeps the packages of backends.
    #[command(name = package::KEEPER_SUBCOMMAND)]
    PackageKeeper {
        /// The inherited descriptor.
        descriptor: i32,
    },
    /// Fetches one; started by the keeper.
    #[command(name = package::PULLER_SUBCOMMAND)]
    PackagePuller,
}

/// Runs the part that this process was started for, to its end; none: it was started for something else. Every
/// program that holds a host calls it before all else, because the host starts that program for its parts.
#[cfg_attr(not(feature = "drill"), expect(unused_variables, reason = "only a host that is attacked serves from here"))]
pub fn run(built_in: &'static BuiltIn) -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    if !WORDS.iter().any(|part| word == *part) {
        return None;
    }
    let part = Order::parse().part;
    if matches!(part, Part::NodeLauncher { .. } | Part::NodeHelper { .. }) {
        // They are there for as long as the host, and do little; starting has touched much.
        memory::let_code_go();
    }
    Some(match part {
        Part::Compiler { engine, memory, cpu, output, threads } => {
            compiling::main(&compiling::Order { engine, bounds: Bounds { memory, cpu, output }, threads })
        }
        #[cfg(feature = "drill")]
        Part::AttackedHost { without, config } if drivebay_attack::is_stage(&config) => {
            drill::leave_away(without);
            super::serve_configured(&config, built_in)
        }
        #[cfg(feature = "drill")]
        Part::AttackedHost { .. } => super::Exit::Usage.into(),
        Part::NodeLauncher { descriptor } => node::launcher_main(descriptor, mounts::read),
        Part::NodeHelper { descriptor, mandate } => node::helper_main(descriptor, mandate, read_permissions),
        Part::NodeFabrics => node::fabrics_main(),
        Part::PackageKeeper { descriptor } => package::keeper_main(descriptor, packages::read),
        Part::PackagePuller => package::puller_main(),
    })
}
