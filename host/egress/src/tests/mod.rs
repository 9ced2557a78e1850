//! Egress against tables, properties, and servers on this machine.

mod address;
mod exchange;
mod form;
mod grant;
mod policy;
mod server;
mod tls;
