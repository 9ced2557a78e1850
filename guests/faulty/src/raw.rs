//! The functions of WASI that the standard library hides. Generated; owns nothing.

#![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../wit", "wit/raw.wit"],
    world: "drivebay:faulty/raw",
    generate_all,
});
