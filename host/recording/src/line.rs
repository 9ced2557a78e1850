//! The lines of a recording.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of this format. A reader refuses a later one.
pub const FORMAT: u32 = 1;

/// One line. The number of an entry counts from the beginning of the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Line {
    /// The first one.
    Header(Header),
    /// An instance was made. What its start code does belongs to this entry.
    Instance {
        /// The entry of its start.
        entry: u64,
        /// Its number. The entries of an instance follow one another and share its memory.
        instance: u64,
        /// The call that it was made for, as it stands in the host's log.
        call: String,
        /// What `wasi:random/insecure-seed` gives it.
        seed: u64,
    },
    /// An exported function was called.
    Call {
        /// Its number.
        entry: u64,
        /// Where.
        instance: u64,
        /// The client's call that it belongs to, as it stands in the host's log.
        call: String,
        /// Milliseconds since the recording began.
        at: u64,
        /// `drivebay:backend/volumes.create-volume`.
        function: String,
        /// What it was given.
        arguments: Vec<Value>,
    },
    /// A function of the host, and what it answered.
    Host {
        /// Who called.
        entry: u64,
        /// `drivebay:host/state.get`.
        function: String,
        /// What it was given.
        arguments: Vec<Value>,
        /// What it answered, null where it answers nothing.
        answer: Value,
    },
    /// A clock was read.
    Clock {
        /// By whom.
        entry: u64,
        /// Which one.
        clock: Clock,
        /// What it showed, in nanoseconds: since 1970, or since the host began.
        nanoseconds: u64,
    },
    /// Random bytes were drawn.
    Random {
        /// By whom.
        entry: u64,
        /// In hexadecimal digits.
        bytes: String,
    },
    /// Something was written to standard output or error.
    Said {
        /// By whom.
        entry: u64,
        /// A line of it.
        text: String,
    },
    /// An HTTP request was begun.
    Request {
        /// By whom.
        entry: u64,
        /// Its number in the recording.
        exchange: u64,
        /// GET, for example.
        method: String,
        /// Where to.
        url: String,
        /// In the order of their names; values that log somebody in are not shown.
        headers: Vec<(String, String)>,
    },
    /// The head of its answer, or why there was none.
    Response {
        /// By whom it was asked for.
        entry: u64,
        /// The request's number.
        exchange: u64,
        /// The status; none: there was no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// As of a request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
        /// A case of `wasi:http/types.error-code`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A body, when it had ended or nobody wanted more of it.
    Body {
        /// By whom it was written or read.
        entry: u64,
        /// The request's number.
        exchange: u64,
        /// Whose it is.
        of: Side,
        /// Text, or `{"base64": …}`.
        body: Value,
        /// Whether it ended well; otherwise this is what there was of it.
        whole: bool,
    },
    /// An exported function returned.
    Return {
        /// Which one.
        entry: u64,
        /// What it answered, null where it answers nothing.
        answer: Value,
    },
    /// It was ended instead.
    Fault {
        /// Which one.
        entry: u64,
        /// By what.
        why: String,
    },
    /// The last one. Without it, the host or the connection ended first.
    End {
        /// Why the recording ended.
        why: String,
        /// Whether something is missing because of that.
        cut_off: bool,
    },
}

/// How a request was answered: status and headers, or the case of an error.
pub type Response = Result<(u16, Vec<(String, String)>), String>;

/// What a recording says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the host.
    pub host: String,
    /// The contract, with its version.
    pub contract: String,
    /// The operator's name of the backend.
    pub backend: String,
    /// What the component says of itself: name and version.
    pub component: String,
    /// The component, `sha256:` and its digest.
    pub digest: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Directories that the backend is granted: what it does in them is not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// What people read.
    Wall,
    /// What only goes forward.
    Monotonic,
}

/// A side of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What was sent.
    Request,
    /// What came back.
    Response,
}

impl Line {
    /// The entry that it belongs to; none: to all of the recording.
    pub const fn entry(&self) -> Option<u64> {
        match self {
            Self::Header(_) | Self::End { .. } => None,
            Self::Instance { entry, .. }
            | Self::Call { entry, .. }
            | Self::Host { entry, .. }
            | Self::Clock { entry, .. }
            | Self::Random { entry, .. }
            | Self::Said { entry, .. }
            | Self::Request { entry, .. }
            | Self::Response { entry, .. }
            | Self::Body { entry, .. }
            | Self::Return { entry, .. }
            | Self::Fault { entry, .. } => Some(*entry),
        }
    }
}
