//! What is known of every RPC without looking at a request.
//!
//! The facts are generated from the descriptors and the table of the bridge; this file gives them
//! names. What a call locks does not belong here but to the rows of `rpc`.

use super::bridge::{Interface, Method};
use drivebay_proto::SecretField;

/// The sockets that serve an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those of the controller and those of the node.
    Both,
    /// Those of the controller.
    Controller,
    /// Those of the node.
    Node,
}

/// How clients read the failures of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// As CSI says; most add-ons do the same.
    Csi,
    /// Replication's way: what fits no code is UNKNOWN.
    Replication,
}

/// What an RPC does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It changes something: its outcome matters after a failure, and background work may follow.
    Changes,
}

/// One row of the generated table.
#[derive(Clone, Copy, Debug)]
pub(super) struct MethodFacts {
    pub(super) service: &'static str,
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) streaming: bool,
    pub(super) alpha: bool,
    pub(super) side: Side,
    pub(super) family: Family,
    pub(super) effect: Effect,
    pub(super) behind: Option<(Interface, &'static str)>,
    pub(super) secret_fields: &'static [SecretField],
}

/// The enum of all RPCs. A row: variant, service, name, path, whether it streams, whether it is experimental, the
/// sockets that serve it, how its failures are read, what it does, the interface and the function behind it, and the
/// secret fields of its request.
macro_rules! methods {
    ($($method:ident: $service:literal, $name:literal, $path:literal, $streaming:literal, $alpha:literal,
       $side:ident, $family:ident, $effect:ident, $behind:expr,
       [$(($field:literal, $shape:ident, $sensitivity:ident),)*];)*) => {
        /// An RPC that the host serves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Method {
            $(#[doc = $path] $method,)*
        }

        impl Method {
            /// All of them, service by service.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$method),*];

            pub(super) const fn facts(self) -> crate::method::MethodFacts {
                match self {
                    $(Self::$method => crate::method::MethodFacts {
                        service: $service,
                        name: $name,
                        path: $path,
                        streaming: $streaming,
                        alpha: $alpha,
                        side: crate::method::Side::$side,
                        family: crate::method::Family::$family,
                        effect: crate::method::Effect::$effect,
                        behind: $behind,
                        secret_fields: &[$(drivebay_proto::SecretField {
                            path: $field,
                            shape: drivebay_proto::SecretShape::$shape,
                            sensitivity: drivebay_proto::Sensitivity::$sensitivity,
                        }),*],
                    },)*
                }
            }

            /// Finds an RPC by its HTTP path.
            pub fn from_path(path: &str) -> Option<Self> {
                match path {
                    $($path => Some(Self::$method),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use methods;

impl Method {
    /// The service's full name, for example `csi.v1.Controller`.
    pub const fn service(self) -> &'static str {
        self.facts().service
    }

    /// The RPC's name within its service, for example `CreateVolume`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The HTTP path, for example `/csi.v1.Controller/CreateVolume`.
    pub const fn path(self) -> &'static str {
        self.facts().path
    }

    /// Whether the answer is a stream of messages.
    pub const fn streaming(self) -> bool {
        self.facts().streaming
    }

    /// Whether the RPC or its service is marked experimental.
    pub const fn alpha(self) -> bool {
        self.facts().alpha
    }

    /// The sockets that serve it.
    pub const fn side(self) -> Side {
        self.facts().side
    }

    /// How clients read its failures.
    pub const fn family(self) -> Family {
        self.facts().family
    }

    /// What it does.
    pub const fn effect(self) -> Effect {
        self.facts().effect
    }

    /// The interface whose function answers it; none where the host answers from facts.
    pub const fn interface(self) -> Option<Interface> {
        match self.facts().behind {
            Some((interface, _)) => Some(interface),
            None => None,
        }
    }

    /// The function that answers it, with its interface.
    pub(super) const fn function(self) -> Option<(Interface, &'static str)> {
        self.facts().behind
    }

    /// The fields of the request that must not be shown, nested ones included.
    pub const fn secret_fields(self) -> &'static [SecretField] {
        self.facts().secret_fields
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.service(), self.name())
    }
}

impl Interface {
    /// Its name within the package, for example `volume-listing`.
    pub fn short_name(self) -> &'static str {
        let name = self.name();
        let (_, name) = name.split_once('/').unwrap_or(("", name));
        name.split_once('@').map_or(name, |(name, _)| name)
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
