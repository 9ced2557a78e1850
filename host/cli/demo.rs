//! x
use super::Exit;
#[derive(Debug, clap::Parser)]
pub(crate) struct Args {}
pub(crate) fn run(_a: &Args) -> Exit {
    Exit::Failed
}
