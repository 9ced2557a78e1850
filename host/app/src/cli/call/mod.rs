//! `drivebay call`: one RPC of any driver, with JSON in and JSON out.
//!
//! It owns reading the request and printing the answer, and knows no RPC by itself: names and types
//! come from the contracts that are built in, so that every method there is can be called.

mod codec;
pub(super) mod connect;
mod names;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::{Exit, print, say};
use codec::DynamicCodec;
pub(super) use connect::{Whose, connect, connect_to};
use drivebay_policy::units;

/// The largest answer that is taken, in bytes: listings of large drivers pass the transport's 4 MiB.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

const NOTES: &str = "A service may be written without its package where that is clear. Where several \
packages have the method, that of csi.v1 is meant: `Identity/Probe` is csi.v1.Identity/Probe, while \
`Identity/GetIdentity` is identity.Identity/GetIdentity.

Examples:
  drivebay call --socket /run/csi.sock Identity/GetPluginInfo
  drivebay call --socket unix:///run/csi.sock Controller/ListVolumes '{\"max_entries\": 10}'
  drivebay call --socket /run/csi.sock Controller/CreateVolume - < request.json";

/// What `call` is told.
#[derive(Debug, Parser)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The driver's socket.
    #[arg(long, value_name = "PATH|unix:///PATH")]
    socket: String,
    /// The method, for example `csi.v1.Identity/GetPluginInfo`.
    #[arg(value_name = "SERVICE/METHOD")]
    method: String,
    /// The request; `-` reads it from standard input.
    #[arg(value_name = "JSON", default_value = "{}")]
    request: String,
    /// How long the answer may take; the driver is told, too.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::time)]
    timeout: Duration,
}

/// A call that is ready to be made.
struct Prepared {
    socket: PathBuf,
    method: MethodDescriptor,
    request: DynamicMessage,
    timeout: Duration,
}

/// Calls the method and prints what comes back.
pub(crate) fn run(args: &Args) -> Exit {
    let prepared = match prepare(args) {
        Ok(prepared) => prepared,
        Err(words) => {
            say(&words);
            return Exit::Usage;
        }
    };
    let called = super::runtime().map_err(|e| e.to_string()).and_then(|runtime| {
        runtime.block_on(async {
            let channel = connect(&prepared.socket).await?;
            Ok(invoke(channel, prepared).await)
        })
    });
    match called {
        Ok(Ok(())) => return Exit::Done,
        Ok(Err(status)) => complain(&status_line(&status)),
        Err(words) => say(&words),
    }
    Exit::Failed
}

/// Everything that can be wrong before the driver is asked.
fn prepare(args: &Args) -> Result<Prepared, String> {
    let socket = socket(&args.socket)?;
    let pool = DescriptorPool::decode(drivebay_proto::FILE_DESCRIPTOR_SET).map_err(|e| e.to_string())?;
    let method = names::resolve(&pool, &args.method).map_err(|unknown| unknown.to_string())?;
    let request = match args.request.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|e| format!("standard input cannot be read: {e}"))?;
            parse(method.input(), &text)?
        }
        text => parse(method.input(), text)?,
    };
    Ok(Prepared { socket, method, request, timeout: args.timeout })
}

/// The socket as a path. Unlike in a configuration it may be relative to where the person stands.
fn socket(text: &str) -> Result<PathBuf, String> {
    if text.starts_with("unix:") || text.contains("://") {
        return units::socket(text);
    }
    let path = std::path::absolute(text).map_err(|e| format!("--socket {text}: {e}"))?;
    units::socket(&path.to_string_lossy())
}

/// Reads a request, by the JSON mapping of protobuf; empty text is an empty request.
fn parse(message: MessageDescriptor, text: &str) -> Result<DynamicMessage, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let name = message.full_name().to_owned();
    let fields: Vec<_> = message.fields().map(|field| field.name().to_owned()).collect();
    let mut json = serde_json::Deserializer::from_str(text);
    let read = DynamicMessage::deserialize(message, &mut json).and_then(|request| json.end().map(|()| request));
    read.map_err(|error| {
        let fields = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
        format!("the request is no {name}: {error}\nits fields: {fields}")
    })
}

/// Makes the call. A single answer is read as a stream of one.
async fn invoke(channel: Channel, call: Prepared) -> Result<(), Status> {
    let path = format!("/{}/{}", call.method.parent_service().full_name(), call.method.name());
    let path = http::uri::PathAndQuery::try_from(path).map_err(|e| Status::internal(e.to_string()))?;
    let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(LARGEST_ANSWER);
    let mut request = tonic::Request::new(call.request);
    request.set_timeout(call.timeout);
    let began = Instant::now();
    let answers = async {
        client.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
        let codec = DynamicCodec::new(call.method.output());
        let mut answers = client.server_streaming(request, path, codec).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            print(&pretty(&answer)?);
        }
        Ok::<_, Status>(())
    };
    let late = || Status::deadline_exceeded(format!("no answer within {}", humantime::format_duration(call.timeout)));
    match tokio::time::timeout(call.timeout, answers).await {
        // The transport keeps the same deadline and calls its end a cancellation.
        Ok(Err(status)) if status.code() == Code::Cancelled && began.elapsed() >= call.timeout => Err(late()),
        Ok(answered) => answered,
        Err(_) => Err(late()),
    }
}

/// A message in the JSON mapping of protobuf.
fn pretty(message: &DynamicMessage) -> Result<String, Status> {
    serde_json::to_string_pretty(message).map_err(|e| Status::internal(format!("the answer is no JSON: {e}")))
}

/// A failed RPC in one line: the code as the specifications write it, and the driver's words.
pub(super) fn status_line(status: &Status) -> String {
    format!("{}: {}", code_name(status.code()), drivebay_observe::text::tame(status.message(), 4096))
}

/// `NotFound` as `NOT_FOUND`.
fn code_name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Words for standard error as they are, so that scripts find the code at the beginning.
#[expect(clippy::print_stderr, reason = "the command line is where words go to standard error")]
fn complain(words: &str) {
    eprintln!("{words}");
}
