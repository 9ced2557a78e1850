//! What a row of the generated table of conversions does: one macro for each kind of pair.
//!
//! It owns the shape of a conversion and knows no message. The rows come from the two contracts; the
//! word behind each field (`field`, `required`, `number`, …) is a function of `convert`. Every value is
//! taken apart completely, so the compiler notices a field that was forgotten. The direction that only
//! tests need is left out of the host.

/// Puts an item under `cfg(test)` when the host itself never converts in its direction.
macro_rules! when_used {
    (request answer, $item:item) => {
        #[cfg(test)]
        $item
    };
    (answer request, $item:item) => {
        #[cfg(test)]
        $item
    };
    ($used:ident $direction:ident, $item:item) => {
        $item
    };
}

/// The two impls of a pair, with the bodies given.
macro_rules! both_ways {
    ($used:ident, $pb:ty, $wit:ty, |$request:ident| $into_wit:expr, |$answer:ident| $into_pb:expr) => {
        when_used! { $used request, impl IntoWit<$wit> for $pb {
            fn into_wit(self) -> Result<$wit, Invalid> {
                let $request = self;
                $into_wit
            }
        } }
        when_used! { $used answer, impl IntoPb<$pb> for $wit {
            fn into_pb(self) -> Result<$pb, BadAnswer> {
                let $answer = self;
                $into_pb
            }
        } }
    };
}

/// A message and a record, field by field; fields behind `-` are not handed on.
macro_rules! record {
    ($name:ident: $pb:ty, $wit:ty, $used:ident;
     $($from:ident: $how:ident $(<$number:path>)? => $to:ident,)* $(- $dropped:ident,)*) => {
        both_ways! { $used, $pb, $wit,
            |message| {
                type Record = $wit;
                let Self { $($from,)* $($dropped: _,)* } = message;
                Ok(Record { $($to: request::$how $(::<$number, _>)? (stringify!($from), $from)?,)* })
            },
            |record| {
                type Message = $pb;
                let Self { $($to,)* } = record;
                Ok(Message {
                    $($from: answer::$how $(::<$number, _>)? (stringify!($to), $to)?,)*
                    $($dropped: Default::default(),)*
                })
            }
        }
    };
}

/// As `record`, for one message of a stream: a field of the record says where the next one starts.
macro_rules! page {
    ($name:ident: $pb:ty, $wit:ty, $used:ident;
     $($from:ident: $how:ident $(<$number:path>)? => $to:ident,)* => $next:ident) => {
        both_ways! { $used, Page<$pb>, $wit,
            |page| {
                type Message = $pb;
                type Record = $wit;
                let Self { message: Message { $($from,)* }, next: $next } = page;
                Ok(Record {
                    $($to: request::$how $(::<$number, _>)? (stringify!($from), $from)?,)*
                    $next,
                })
            },
            |record| {
                type Message = $pb;
                let Self { $($to,)* $next } = record;
                let message = Message { $($from: answer::$how $(::<$number, _>)? (stringify!($to), $to)?,)* };
                Ok(Page { message, next: $next })
            }
        }
    };
}

/// A message that holds one thing, which is the WIT type.
macro_rules! wrapper {
    ($name:ident: $pb:ty, $wit:ty, $used:ident; $from:ident: $how:ident $(<$number:path>)?,) => {
        both_ways! { $used, $pb, $wit,
            |message| {
                let Self { $from } = message;
                request::$how $(::<$number, _>)? (stringify!($from), $from)
            },
            |value| {
                type Message = $pb;
                Ok(Message { $from: answer::$how $(::<$number, _>)? ("", value)? })
            }
        }
    };
}

/// The members of a oneof and the cases of a variant; those behind `-` carry nothing.
macro_rules! cases {
    ($name:ident: $pb:ty, $wit:ty, $used:ident;
     $($member:ident $from:literal => $case:ident $to:literal,)* $(- $bare_member:ident => $bare_case:ident,)*) => {
        both_ways! { $used, $pb, $wit,
            |member| match member {
                $(Self::$member(value) => Ok(<$wit>::$case(request::field($from, value)?)),)*
                $(Self::$bare_member(_) => Ok(<$wit>::$bare_case),)*
            },
            |case| match case {
                $(Self::$case(value) => Ok(<$pb>::$member(answer::field($to, value)?)),)*
                $(Self::$bare_case => Ok(<$pb>::$bare_member(Default::default())),)*
            }
        }
    };
}

/// The values of two enums; the one behind `-` says that nothing is set.
macro_rules! values {
    ($name:ident: $pb:ty, $wit:ty, $used:ident; $($value:ident => $case:ident,)* - $unset:ident,) => {
        both_ways! { $used, $pb, $wit,
            |value| match value {
                $(Self::$value => Ok(<$wit>::$case),)*
                Self::$unset => Err(Invalid::new("must be set")),
            },
            |case| match case {
                $(Self::$case => Ok(<$pb>::$value),)*
            }
        }
    };
}

pub(super) use {both_ways, cases, page, record, values, when_used, wrapper};
