//! What the HTTP requests of one backend may use, each limit with its default and the reason for it. Plain
//! data; the configuration fills it in.

use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// What the HTTP requests of one backend may use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HttpLimits {
    /// Connections open at once, of one generation. 32: management interfaces of arrays serve few dozen at once.
    pub connections: usize,
    /// Requests of one call, refused ones included. 1,000: a listing of 100,000 volumes in pages of 100.
    pub requests: u64,
    /// Bytes of one request's body. 8 MiB.
    pub request: u64,
    /// Bytes of one answer's body. 8 MiB: a page of a listing, many times over.
    pub response: u64,
    /// For a free connection, the name, TCP and TLS together. 5 s: a call has better things to wait for.
    pub connect_time: Duration,
    /// Until an answer's head, and between two parts of its body. 60 s: slow arrays think for long.
    pub time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 32,
            requests: 1000,
            request: 8 * MIB,
            response: 8 * MIB,
            connect_time: Duration::from_secs(5),
            time: Duration::from_mins(1),
        }
    }
}
