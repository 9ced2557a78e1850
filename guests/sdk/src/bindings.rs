//! Turns the WIT text into Rust: one module for each interface, all on one set of shared types.
//!
//! It owns the settings of the generator and nothing else; what is pleasant to use is built on top
//! of it in the other files. Every interface is generated in a world of its own because the
//! generator puts the type of a whole world into a component: with one world for everything, every
//! component would have to export everything.

/// The shared types, as the generator makes them.
pub(crate) mod shared {
    #![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../wit", "wit/worlds.wit"],
        world: "drivebay:sdk/types",
        additional_derives: [PartialEq, Eq],
        generate_unused_types: true,
        generate_all,
    });
}

/// What the host offers, as the generator makes it.
pub(crate) mod host {
    #![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../wit", "wit/worlds.wit"],
        world: "drivebay:sdk/host",
        additional_derives: [PartialEq, Eq],
        generate_unused_types: true,
        generate_all,
    });
}

/// HTTP, as the generator makes it.
pub(crate) mod http {
    #![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../wit", "wit/worlds.wit"],
        world: "drivebay:sdk/http",
        generate_all,
    });
}

/// Makes the module of one interface: its types, its trait under the name given, and the macro
/// that [`export!`](crate::export) calls.
macro_rules! interface {
    (
        $(#[$doc:meta])*
        $module:ident as $trait:ident, $world:tt
    ) => {
        $(#[$doc])*
        pub mod $module {
            #[doc(hidden)]
            pub mod bindings {
                #![allow(missing_docs, unsafe_code, clippy::pedantic, reason = "generated")]
                wit_bindgen::generate!({
                    path: ["../../wit", "wit/worlds.wit"],
                    world: $world,
                    with: {
                        "drivebay:backend/types@0.1.0": crate::types,
                    },
                    additional_derives: [PartialEq, Eq],
                    generate_unused_types: true,
                    generate_all,
                    pub_export_macro: true,
                });
            }

            #[doc(hidden)]
            pub use bindings::export;
            #[doc(inline)]
            pub use bindings::exports::drivebay::backend::$module::*;
            #[doc(inline)]
            pub use bindings::exports::drivebay::backend::$module::Guest as $trait;
        }
    };
}
pub(crate) use interface;
