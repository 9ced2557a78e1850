//! What the generator makes of the contract for this backend's world, and the exports, which are
//! its unsafe code as well. Nothing else belongs here.

#![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../wit", "wit/world.wit"],
    world: "minimal:backend/minimal",
    generate_all,
});

use crate::Minimal;
export!(Minimal);
