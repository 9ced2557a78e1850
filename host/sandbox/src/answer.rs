//! What a guest answers to the host's own questions, and how one is put. Knows no export.

use drivebay_contract::bindings::drivebay::backend::types::Error;

/// What a guest answered: its value or its error.
pub type Answer<T> = Result<T, Error>;

/// Runs one export of one interface and gives its answer, or the fault that ended it.
macro_rules! own_call {
    ($live:expr, $indices:expr, |$guest:ident, $store:ident| $call:expr) => {{
        let indices = $indices;
        $live
            .run(async |$store: &mut Store<HostState>, instance: &Instance| {
                let $guest = indices.load(&mut *$store, instance)?;
                let answer: Answer<_> = $call.await?;
                answer.map_err($crate::instance::GuestEnd::Other)
            })
            .await
    }};
}
pub(super) use own_call;
