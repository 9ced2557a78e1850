//! The suite as a program of its own, for those who build only this crate.

use clap::Parser;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let args = drivebay_conformance::Args::parse();
    drivebay_conformance::run(&args).await.status().into()
}
