//! The form of a service's rows: each row gives an RPC its policy and wires it to the pipeline.
//! Nothing but form stands here.

/// Makes the gRPC service and the `Rpc` of every row.
///
/// A row of `facts` names the method, and is answered without entering the guest, by a function of `facts.rs`. A row of
/// `guest` says what the RPC locks from the request alone; what it does (reads or changes) stands in the table of the
/// bridge (`codegen/bridge.toml`). Where it applies, it also says which host paths the request names, what it means for
/// the ledger, which object it is about without locking it, which objects it makes, and in brackets: `folds`, when older
/// clients phrase it otherwise (`contract/src/compat`); `asks`, when the host must ask the backend first (an `impl
/// Premise` beside the row).
macro_rules! service {
    (
        $trait:path => Front;
        facts { $( $fact:ident: $method:ident, $fact_request:ident => $fact_response:ident, $answer:ident; )* }
        guest { $(
            $call:ident: $request:ident, |$r:tt| $locks:expr
            $(, paths |$p:tt| $paths:expr)? $(, ledger |$l:tt| $ledger:expr)?
            $(, about |$a:tt| $about:expr)? $(, makes |$m:tt| $makes:expr)? $(, [$($mark:ident)*])?;
        )* }
    ) => {
        $(
            $crate::table::premise!($request $($($mark)*)?);

            impl Rpc for v1::$request {
                fn locks(&self) -> LockSet {
                    let $r = self;
                    $locks
                }

                $(
                    fn host_paths(&self) -> Vec<CallPath> {
                        let $p = self;
                        $paths
                    }
                )?

                $(
                    fn ledger(&self) -> LedgerUse {
                        let $l = self;
                        $ledger
                    }
                )?

                $(
                    fn about(&self) -> LockSet {
                        let $a = self;
                        $about
                    }
                )?

                $(
                    fn makes($m: &<Self as drivebay_contract::Call>::Answer) -> LockSet {
                        $makes
                    }
                )?

                $($( $crate::table::mark!($mark); )*)?

                fn done() -> Option<<Self as drivebay_contract::Call>::Answer> {
                    Some(Default::default())
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
                    super::facts::answer(self, drivebay_contract::Method::$method, super::facts::$answer)
                }
            )*
            $(
                async fn $call(
                    &self,
                    request: tonic::Request<v1::$request>,
                ) -> Result<tonic::Response<<v1::$request as drivebay_contract::Call>::Answer>, tonic::Status> {
                    super::pipeline::call(self, request).await
                }
            )*
        }
    };
}

/// What a row's mark adds to its `Rpc`.
macro_rules! mark {
    (folds) => {
        fn folded(self) -> Self {
            drivebay_contract::compat::Fold::fold(self)
        }
    };
    (asks) => {};
}

/// A row without the mark `asks` depends on nothing but its request.
macro_rules! premise {
    ($request:ident $(folds)?) => {
        impl $crate::premise::Premise for v1::$request {}
    };
    ($request:ident $(folds)? asks) => {};
}

pub(super) use {mark, premise, service};
