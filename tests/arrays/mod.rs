//! `guests/array` as operators run it: hosts that serve it, and its storage arrays as processes of their
//! own, over TLS. Clients that repeat what they get no answer to, under random faults; and secrets,
//! which are checked by the array and shown nowhere. What each call means is seen by csi-sanity and
//! `drivebay conform` in `.ci/array`.

mod chance;
mod client;
mod outcomes;
mod pair;
mod process;
mod secrets;
mod site;
