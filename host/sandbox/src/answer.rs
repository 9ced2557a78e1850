//! What a guest answers to the host's own questions, and how one is put. Knows no export.

use drivebay_contract::bindings::drivebay::backend::types::Error;

/// What a guest answered: its value or its error.
pub type Answer<T> = Result<T, Error>;

/// Runs one export of one interface and gives its answer, or the fault that ended it.
macro_rules! own_call {
    ($live:expr, $indices:expr, $interface:ident $name:literal, $call:ident($($argument:ident),*)) => {{
        let indices = $indices;
        $live
            .run(async |store: &mut Store<HostState>, instance: &Instance| {
                use drivebay_contract::engine::Watch as _;
                let guest = indices.load(&mut *store, instance)?;
                store.data_mut().enters((drivebay_contract::Interface::$interface, $name), &($(&$argument,)*));
                let answer: Answer<_> = guest.$call(&mut *store, $($argument),*).await?;
                store.data_mut().returns(&answer);
                answer.map_err($crate::instance::GuestEnd::Other)
            })
            .await
    }};
}
pub(super) use own_call;
