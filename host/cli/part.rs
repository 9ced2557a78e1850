//! The parts of a host that are processes of their own: this program started anew by itself, with a word that no
//! person types. Owns those words' arguments; what the parts do is theirs. They hear everything on their command
//! line and on inherited descriptors, and have no log.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::confine::Bounds;
use crate::{node, sandbox::compiling};

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
    /// Starts the process for node work.
    #[command(name = node::LAUNCHER_SUBCOMMAND)]
    NodeLauncher {
        /// The inherited descriptor.
        descriptor: i32,
    },
    /// Does node work; started by the launcher.
    #[command(name = node::HELPER_SUBCOMMAND)]
    NodeHelper {
        /// The inherited descriptor.
        descriptor: i32,
    },
}

/// Runs the part that this process was started for, to its end; none: it was started for something else. Every
/// program that holds a host calls it before all else, because the host starts that program for its parts.
pub fn run() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    if ![compiling::SUBCOMMAND, node::LAUNCHER_SUBCOMMAND, node::HELPER_SUBCOMMAND].iter().any(|part| word == *part) {
        return None;
    }
    Some(match Order::parse().part {
        Part::Compiler { engine, memory, cpu, output, threads } => {
            compiling::main(&compiling::Order { engine, bounds: Bounds { memory, cpu, output }, threads })
        }
        Part::NodeLauncher { descriptor } => node::launcher_main(descriptor),
        Part::NodeHelper { descriptor } => node::helper_main(descriptor),
    })
}
