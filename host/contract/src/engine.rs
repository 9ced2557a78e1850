//! The engine's types that a call needs, and the one way into a guest's function: past whoever watches.

use serde::Serialize;
pub use wasmtime::component::{ComponentExportIndex as FunctionIndex, Instance, InstancePre};
use wasmtime::component::{ComponentNamedList, Lift, Lower};
pub use wasmtime::{Error, Store};

use super::Interface;

/// Sees what passes between the host and a guest. The data of a store does; what is seen is worked out only where somebody
/// keeps it.
pub trait Watch {
    /// A function of an exported interface is called with these arguments, a tuple.
    fn enters<A: Serialize + ?Sized>(&mut self, function: (Interface, &'static str), arguments: &A);

    /// It has returned. Where it is ended instead, nothing is said here.
    fn returns<A: Serialize + ?Sized>(&mut self, answer: &A);
}

/// Calls a function.
///
/// # Errors
/// The engine's: a trap, a limit or a host function's error.
pub(crate) async fn enter<T, P, R>(
    (store, instance): (&mut Store<T>, &Instance),
    (index, function): (&FunctionIndex, (Interface, &'static str)),
    asked: P,
) -> Result<R, Error>
where
    T: Watch + Send + 'static,
    P: ComponentNamedList + Lower + Serialize + Send + Sync,
    R: Lift + Serialize + Send + Sync + 'static,
{
    let typed = instance.get_typed_func::<P, (R,)>(&mut *store, index)?;
    store.data_mut().enters(function, &asked);
    let (answer,) = typed.call_async(&mut *store, asked).await?;
    store.data_mut().returns(&answer);
    Ok(answer)
}
