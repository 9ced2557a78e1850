//! The form of a service's rows: each row gives an RPC its policy and wires it to the pipeline.
//! Nothing but form stands here.

/// Makes the gRPC service and the `Rpc` of every row.
///
/// A row of `facts` is answered without entering the guest, by a function of `rpc/facts.rs`. A row
/// of `guest` says what the RPC does (`Reads` or `Changes`) and what it locks; node rows also say
/// which host paths the request names and what it means for the ledger.
macro_rules! service {
    (
        $trait:path => Front;
        facts { $( $fact:ident: $fact_request:ident => $fact_response:ident, $answer:ident; )* }
        guest { $(
            $call:ident: $request:ident => $response:ident, $effect:ident, |$r:tt| $locks:expr
            $(, paths |$p:tt| $paths:expr, ledger |$l:tt| $ledger:expr)?;
        )* }
    ) => {
        $(
            impl Rpc for v1::$request {
                const EFFECT: Effect = Effect::$effect;

                fn locks(&self) -> LockSet {
                    let $r = self;
                    $locks
                }

                $(
                    fn host_paths(&self) -> Vec<CallPath> {
                        let $p = self;
                        $paths
                    }

                    fn ledger(&self) -> LedgerUse {
                        let $l = self;
                        $ledger
                    }
                )?

                fn done() -> Option<v1::$response> {
                    Some(v1::$response::default())
                }
            }
        )*

        #[tonic::async_trait]
        impl $trait for super::Front {
            $(
                async fn $fact(
                    &self,
                    _request: tonic::Request<v1::$fact_request>,
                ) -> Result<tonic::Response<v1::$fact_response>, tonic::Status> {
                    super::facts::answer(self, super::facts::$answer)
                }
            )*
            $(
                async fn $call(
                    &self,
                    request: tonic::Request<v1::$request>,
                ) -> Result<tonic::Response<v1::$response>, tonic::Status> {
                    super::pipeline::call(self, request).await
                }
            )*
        }
    };
}

pub(super) use service;
