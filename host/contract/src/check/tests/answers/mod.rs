//! What a guest may answer, by itself and to the request at hand.

mod flaws;
mod health;
mod node;
mod snapshots;
mod volumes;
