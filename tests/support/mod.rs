//! What all tests of this binary share: the program as a process, its log, gRPC clients, requests,
//! and the instructions for the test backend. It asserts nothing about the program but that it
//! starts and stops as told. Why a process: signals, exit statuses, sockets and the log are part of
//! what is tested.

mod clients;
mod control;
mod gate;
mod guest;
mod host;
pub mod lasting;
mod log;
mod operator;
mod options;
pub mod place;
mod pool;
pub mod requests;
pub mod served;
pub mod shelf;
pub mod site;
pub mod tap;
pub mod wasm;
pub mod wire;

use std::time::{Duration, Instant};

pub use gate::Gate;
pub use guest::Guest;
pub use host::{TestHost, run_to_end};
pub use log::Log;
pub use options::{Node, Options};
pub use pool::{Pool, is_root, run};
use tonic::Status;

/// How long anything may take that is waited for. Far more than it takes: machines are shared, and
/// what never happens ends here in words instead of hanging.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Makes a call, and makes it again while it is one of the host's own background steps that it meets: they come and go
/// as they like, and clients repeat what they made to wait. Any other answer is the call's.
pub async fn beside_steps<T, F>(mut call: impl FnMut() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    const AGAIN: Duration = Duration::from_millis(10);
    let begin = Instant::now();
    loop {
        match call().await {
            Err(status) if status.message().contains("a background step is pending") && begin.elapsed() < PATIENCE => {}
            answer => return answer,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The error of a call that must fail.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<tonic::Response<T>, Status>) -> Status {
    answer.expect_err("the call must be refused")
}

/// Asserts code and words of a refusal: every one has a message with the call's id and no details.
#[track_caller]
pub fn expect(status: &Status, code: tonic::Code, words: &str) {
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(words), "\"{words}\" is not in: {}", status.message());
    assert!(status.details().is_empty(), "{status:?}");
}
