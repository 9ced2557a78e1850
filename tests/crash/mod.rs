//! Crashes: the host or its node helper is killed, and started again, and then nothing that was
//! acknowledged is missing, nothing else is left, and nothing of others was touched.

mod client;
mod matrix;
mod operation;
mod random;
mod replication;
mod scene;
