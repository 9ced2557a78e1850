//! The parts of the host that judge what others send: a second root over the host's own sources, without the engine.
//! Owns no code of the host's and changes none. Where the host has an engine stands one whose guest says whatever the
//! fuzzer wants, so that calls go through the very code that carries them in the host.
//! Why a root and not a feature: the host has no build without its engine, and should not seem to have one.
#![allow(dead_code, unused_imports, reason = "what is only used by parts that are not here")]

pub mod made;

#[path = "../../../host/config/mod.rs"]
pub mod config;

#[path = "../../../host/egress"]
pub mod egress {
    //! What may be reached; nothing here reaches it.
    pub mod address;
    pub mod error;
    pub mod form;
    pub mod grant;
    pub mod limits;
    pub mod policy;
    pub mod target;
    #[path = "../../tests/fuzz/parts/verdict.rs"]
    pub mod verdict;

    pub use self::limits::HttpLimits;
}

#[path = "../../../host/observe"]
pub mod observe {
    //! Texts of others on their way to a log.
    #[path = "../../tests/fuzz/parts/drill.rs"]
    pub mod drill;
    pub mod guest_log;
    pub mod masking;
    pub mod text;

    pub use self::masking::Secrets;
}

#[path = "../../../host/sandbox"]
pub mod sandbox {
    //! What of the sandbox needs no engine, and what stands in the engine's place.
    pub mod cache;
    pub mod limits;

    #[path = "../../tests/fuzz/parts/bindings.rs"]
    pub mod bindings;
    #[path = "../../tests/fuzz/parts/engine.rs"]
    pub mod engine_types;
}

#[path = "../../../host/wire/mod.rs"]
pub mod wire;
