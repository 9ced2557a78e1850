//! Egress against tables, properties, and servers on this machine.

mod address;
mod audit;
mod exchange;
mod form;
mod grant;
mod policy;
mod server;
mod tls;
