//! Calling the guest function behind an RPC: what such a call is, and how it fails.
//!
//! It converts and calls, no more: limits, locks and deadlines are the business of those who hand it a
//! store. Every call finds its function by an index that was looked up once for the component.

use super::bridge::{Exports, Interface, Method};
use super::check::Flaw;
use super::convert::{BadAnswer, Invalid};
use crate::bindings::drivebay::backend::types;
use crate::engine::{Error, FunctionIndex, Instance, InstancePre, Store, Watch};

/// A request that a guest can answer.
pub trait Call: prost::Message + Default + Sized {
    /// What the client gets: the response message, or a [`Page`] of a stream.
    type Answer: std::fmt::Debug + Send;

    /// The RPC that carries this request.
    const METHOD: Method;

    /// Converts the request, calls the guest and converts its answer. The inner error is the guest's
    /// own, the outer one says that there is none.
    fn invoke<T: Watch + Send + 'static>(
        self,
        exports: &Exports,
        store: &mut Store<T>,
        instance: &Instance,
    ) -> impl Future<Output = Result<Result<Told<Self::Answer>, types::Error>, CallFault>> + Send;
}

/// What a guest answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<A> {
    /// For the client.
    pub answer: A,
    /// Entries of a list that no message holds as the guest gave them, and what became of them.
    pub flaws: Vec<Flaw>,
}

impl<A> From<A> for Told<A> {
    fn from(answer: A) -> Self {
        Self { answer, flaws: Vec::new() }
    }
}

/// What of a request its answer repeats, kept while the guest has the rest.
pub(super) trait Keep<Request> {
    /// Copies it.
    fn keep(request: &Request) -> Self;
}

/// Why a call has no answer of the guest's.
#[derive(Debug, thiserror::Error)]
pub enum CallFault {
    /// The request does not fit the contract; the guest was not called.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The guest ended well, but what it said does not fit the contract.
    #[error("the backend's answer is wrong: {0}")]
    BadAnswer(#[from] BadAnswer),
    /// The component does not have the interface; nothing was called.
    #[error("the backend does not export {0}")]
    NotExported(Interface),
    /// A trap, a limit or a host function's error.
    #[error(transparent)]
    Engine(Error),
}

impl From<Error> for CallFault {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// One message of a stream, and where the next one starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<M> {
    /// The message for the client.
    pub message: M,
    /// The offset in bytes to ask for next; none: this was the last page.
    pub next: Option<u64>,
}

/// An exported interface whose functions have other types than the contract's.
#[derive(Debug, thiserror::Error)]
#[error("{interface} differs from the contract: {cause}")]
pub struct WrongTypes {
    /// The first one that differs.
    pub interface: Interface,
    /// What the engine says about it.
    pub cause: Error,
}

impl Exports {
    /// The function behind an RPC, and its name.
    pub(super) fn behind(&self, method: Method) -> Option<(&FunctionIndex, (Interface, &'static str))> {
        self.functions().behind(method).zip(method.function())
    }

    /// The interfaces that the component exports, in the order of the contract.
    pub fn present(&self) -> impl Iterator<Item = Interface> + '_ {
        Interface::ALL.into_iter().filter(|interface| self.has(*interface))
    }
}

impl std::fmt::Debug for Exports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.present()).finish()
    }
}

/// Looks an interface up; none where the component does not export it at all.
pub(super) fn look_up<T: 'static, I>(
    component: &InstancePre<T>,
    interface: Interface,
    find: impl FnOnce(&InstancePre<T>) -> Result<I, Error>,
) -> Result<Option<I>, Error> {
    let exported = component.component().get_export_index(None, interface.name());
    exported.map(|_| find(component)).transpose()
}

/// Where the functions behind the RPCs are in a component, in the order of [`Method::ALL`]. A call looks up
/// the one function that it needs: a whole interface would cost it the types of all the others.
#[derive(Clone, Default)]
pub(super) struct Functions(Vec<Option<FunctionIndex>>);

impl Functions {
    /// Looks them up.
    pub(super) fn find<T: 'static>(component: &InstancePre<T>) -> Self {
        let component = component.component();
        let find = |(interface, function): (Interface, &str)| {
            let interface = component.get_export_index(None, interface.name())?;
            component.get_export_index(Some(&interface), function)
        };
        Self(Method::ALL.iter().map(|method| method.function().and_then(find)).collect())
    }

    /// The one behind an RPC.
    fn behind(&self, method: Method) -> Option<&FunctionIndex> {
        self.0.get(method as usize)?.as_ref()
    }
}

/// The enum of all interfaces and the table of a component's exports. A row: variant, field, name.
macro_rules! interfaces {
    ($($interface:ident: $field:ident, $name:literal;)*) => {
        /// An interface that a guest may export.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Interface {
            $(#[doc = $name] $interface,)*
        }

        impl Interface {
            /// All of them, in the order of the contract.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$interface),*];

            /// The name under which a component exports it, with package and version.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$interface => $name,)*
                }
            }
        }

        /// What a component exports: looked up once, used by every call.
        #[derive(Clone, Default)]
        pub struct Exports {
            functions: crate::call::Functions,
            $($field: Option<exported::$field::GuestIndices>,)*
        }

        impl Exports {
            /// Looks up all interfaces. One that is there but lacks a function is an error.
            pub fn find<T: 'static>(
                component: &crate::engine::InstancePre<T>,
            ) -> Result<Self, crate::engine::Error> {
                Ok(Self {
                    functions: crate::call::Functions::find(component),
                    $($field: crate::call::look_up(
                        component,
                        Interface::$interface,
                        exported::$field::GuestIndices::new,
                    )?,)*
                })
            }

            pub(super) const fn functions(&self) -> &crate::call::Functions {
                &self.functions
            }

            /// Whether the component exports an interface.
            pub const fn has(&self, interface: Interface) -> bool {
                match interface {
                    $(Interface::$interface => self.$field.is_some(),)*
                }
            }

            /// Compares the types of all exported functions with the contract's.
            pub fn check_types<T: 'static>(
                &self,
                store: &mut crate::engine::Store<T>,
                instance: &crate::engine::Instance,
            ) -> Result<(), crate::WrongTypes> {
                $(if let Some(found) = &self.$field {
                    let loaded = found.load(&mut *store, instance);
                    loaded.map_err(|cause| crate::WrongTypes { interface: Interface::$interface, cause })?;
                })*
                Ok(())
            }
        }
    };
}

/// The call behind an RPC. A row: method, request, response, interface, what the function takes (`request`
/// or `nothing`, with its type) and gives, and what that turns into: of a `list`, entry by entry.
macro_rules! call {
    ($method:ident: $request:path => $response:ty,
     $interface:ident, $input:ident $taken:ty => $given:ty, $answer:ident $($kept:path)?) => {
        impl crate::Call for $request {
            type Answer = call!(@type $answer $response);

            const METHOD: Method = Method::$method;

            async fn invoke<T: crate::engine::Watch + Send + 'static>(
                self,
                exports: &Exports,
                store: &mut crate::engine::Store<T>,
                instance: &crate::engine::Instance,
            ) -> Result<Result<crate::Told<Self::Answer>, imported::types::Error>, crate::CallFault> {
                type Given = Result<$given, imported::types::Error>;

                let Some(function) = exports.behind(Method::$method) else {
                    return Err(crate::CallFault::NotExported(Interface::$interface));
                };
                $(let kept = <$kept as crate::call::Keep<_>>::keep(&self);)?
                let result: Given = call!(@enter $input self, $taken, function, store, instance);
                match result {
                    Ok(answer) => Ok(Ok(call!(@answer $answer answer, $(kept, $kept)?))),
                    Err(error) => Ok(Err(error)),
                }
            }
        }
    };
    (@type page $response:ty) => { Page<$response> };
    (@type $answer:ident $response:ty) => { $response };
    (@enter request $this:expr, $taken:ty, $function:expr, $store:ident, $instance:ident) => {{
        let request: $taken = $this.into_wit()?;
        crate::engine::enter(($store, $instance), $function, (&request,)).await?
    }};
    (@enter nothing $this:expr, $taken:ty, $function:expr, $store:ident, $instance:ident) => {{
        let nothing: $taken = ();
        crate::engine::enter(($store, $instance), $function, nothing).await?
    }};
    (@answer empty $answer:ident,) => {{
        let () = $answer;
        Self::Answer::default().into()
    }};
    (@answer kept $answer:ident, $keeper:ident, $kept:path) => {{
        let answer: Self::Answer = ($keeper, $answer).into_pb()?;
        answer.into()
    }};
    (@answer list $answer:ident,) => {{
        let mut list = $answer;
        let (entries, flaws) = crate::lists::told(std::mem::take(&mut list.entries))?;
        let page: Self::Answer = list.into_pb()?;
        crate::Told { answer: Self::Answer { entries, ..page }, flaws }
    }};
    (@answer $kind:ident $answer:ident,) => {{
        let answer: Self::Answer = $answer.into_pb()?;
        answer.into()
    }};
}

pub(super) use {call, interfaces};
