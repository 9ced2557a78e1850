//! Volume groups: sets of volumes that are deleted, cut and replicated together.
//!
//! `terms` reads a request's parameters, `membership` decides who may be a member, `turn` lets one
//! call at a time change a group, `create`, `modify`, `delete` and `listing` are the calls. A group
//! holds no data; what is done with its members stands elsewhere.

mod create;
mod delete;
mod listing;
mod membership;
mod modify;
mod terms;
mod turn;
