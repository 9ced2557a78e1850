//! Tests of the bridge: generated round trips of every message, and by hand what a round trip cannot
//! show: that fields do not change places, and what is refused in which words.
//!
//! A pair of conversions that swap two fields both ways passes every round trip, so one request and
//! one answer are compared field by field.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::{BadAnswer, IntoPb, IntoWit, Invalid, Page};

#[allow(deprecated, reason = "older clients still send deprecated fields")]
mod by_hand;
mod tables;

/// A message that can be made at random, valid for its WIT type.
trait Sample: Sized + Debug {
    fn sample() -> BoxedStrategy<Self>;
}

/// What of a message survives the way through a WIT type.
trait Normalise<W> {
    fn normalise(self) -> Self;
}

/// Random messages come back from WIT as they were, apart from what the contract leaves out.
fn round_trips<P, W>()
where
    P: Sample + Normalise<W> + IntoWit<W> + Clone + PartialEq,
    W: IntoPb<P>,
{
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&P::sample(), |message| {
        let expected = message.clone().normalise();
        let wit: W = message.into_wit().map_err(|invalid| TestCaseError::fail(invalid.to_string()))?;
        let back: P = wit.into_pb().map_err(|bad| TestCaseError::fail(bad.to_string()))?;
        prop_assert_eq!(back, expected);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// The numbers of an enum, from one on.
fn numbers<E: TryFrom<i32>>(from: i32) -> BoxedStrategy<i32> {
    let known = (from..64).filter(|number| E::try_from(*number).is_ok());
    select(known.collect::<Vec<_>>()).boxed()
}

impl Sample for String {
    fn sample() -> BoxedStrategy<Self> {
        prop::collection::vec(any::<char>(), 0..12).prop_map(Self::from_iter).boxed()
    }
}

impl Sample for bool {
    fn sample() -> BoxedStrategy<Self> {
        any::<Self>().boxed()
    }
}

impl Sample for i32 {
    fn sample() -> BoxedStrategy<Self> {
        prop_oneof![Just(0), Just(Self::MAX), 0..Self::MAX].boxed()
    }
}

impl Sample for i64 {
    fn sample() -> BoxedStrategy<Self> {
        prop_oneof![Just(0), Just(Self::MAX), 0..Self::MAX].boxed()
    }
}

impl<T: Sample + Clone + 'static> Sample for Option<T> {
    fn sample() -> BoxedStrategy<Self> {
        prop::option::of(T::sample()).boxed()
    }
}

impl<T: Sample + 'static> Sample for Vec<T> {
    fn sample() -> BoxedStrategy<Self> {
        prop::collection::vec(T::sample(), 0..4).boxed()
    }
}

impl Sample for BTreeMap<String, String> {
    fn sample() -> BoxedStrategy<Self> {
        prop::collection::btree_map(String::sample(), String::sample(), 0..4).boxed()
    }
}

impl<M: Sample + 'static> Sample for Page<M> {
    fn sample() -> BoxedStrategy<Self> {
        let next = prop::option::of(any::<u64>());
        (M::sample(), next).prop_map(|(message, next)| Self { message, next }).boxed()
    }
}

impl Sample for prost_types::Timestamp {
    fn sample() -> BoxedStrategy<Self> {
        let moment = (-62_135_596_800..=253_402_300_799_i64, 0..1_000_000_000);
        moment.prop_map(|(seconds, nanos)| Self { seconds, nanos }).boxed()
    }
}

impl Sample for prost_types::Duration {
    fn sample() -> BoxedStrategy<Self> {
        let length = (0..18_446_744_073_i64, 0..1_000_000_000);
        length.prop_map(|(seconds, nanos)| Self { seconds, nanos }).boxed()
    }
}

/// The generated table once more: here its rows make random messages and the tests themselves.
#[allow(deprecated, reason = "older clients still send deprecated fields")]
mod generated {
    use super::*;
    use crate::bindings::drivebay::backend as imported;
    use crate::bindings::exports::drivebay::backend as exported;
    use drivebay_proto::pb;

    /// A field's random values; the messages that WIT needs are always there.
    macro_rules! sample {
        (required) => {
            Sample::sample().prop_map(Some)
        };
        (one_of) => {
            Sample::sample().prop_map(Some)
        };
        (number $number:path) => {
            numbers::<$number>(1)
        };
        (optional_number $number:path) => {
            numbers::<$number>(0)
        };
        ($how:ident) => {
            Sample::sample()
        };
    }

    /// What of a field comes back.
    macro_rules! normal {
        (mode_only $field:expr) => {
            $field = $field.map(|whole| pb::csi::v1::VolumeCapability { access_type: None, ..whole })
        };
        ($how:ident $field:expr) => {};
    }

    macro_rules! record {
        ($name:ident: $pb:ty, $wit:ty, $used:ident;
         $($from:ident: $how:ident $(<$number:path>)? => $to:ident,)* $(- $dropped:ident,)*) => {
            wrapper! { $name: $pb, $wit, $used; $($from: $how $(<$number>)?,)* $(- $dropped,)* }
        };
    }

    macro_rules! page {
        ($name:ident: $pb:ty, $wit:ty, $used:ident;
         $($from:ident: $how:ident $(<$number:path>)? => $to:ident,)* => $next:ident) => {
            message! { $pb; $($from: $how $(<$number>)?,)* }
            round_trip! { $name: Page<$pb>, $wit; }
        };
    }

    macro_rules! wrapper {
        ($name:ident: $pb:ty, $wit:ty, $used:ident;
         $($from:ident: $how:ident $(<$number:path>)?,)* $(- $dropped:ident,)*) => {
            message! { $pb; $($from: $how $(<$number>)?,)* $($dropped: field,)* }
            round_trip! { $name: $pb, $wit; $($from: $how,)* $(- $dropped,)* }
        };
    }

    macro_rules! message {
        ($pb:ty; $($from:ident: $how:ident $(<$number:path>)?,)*) => {
            impl Sample for $pb {
                fn sample() -> BoxedStrategy<Self> {
                    let fields = ($(sample!($how $($number)?),)*);
                    fields.prop_map(|($($from,)*)| Self { $($from),* }).boxed()
                }
            }
        };
    }

    macro_rules! round_trip {
        ($name:ident: $pb:ty, $wit:ty; $($from:ident: $how:ident,)* $(- $dropped:ident,)*) => {
            impl Normalise<$wit> for $pb {
                #[allow(unused_mut, reason = "most messages are normal as they are")]
                fn normalise(mut self) -> Self {
                    $(normal!($how self.$from);)*
                    $(self.$dropped = Default::default();)*
                    self
                }
            }

            #[test]
            fn $name() {
                round_trips::<$pb, $wit>();
            }
        };
    }

    macro_rules! cases {
        ($name:ident: $pb:ty, $wit:ty, $used:ident;
         $($member:ident $from:literal => $case:ident $to:literal,)* $(- $bare:ident => $bare_case:ident,)*) => {
            impl Sample for $pb {
                fn sample() -> BoxedStrategy<Self> {
                    Union::new([
                        $(Sample::sample().prop_map(Self::$member).boxed(),)*
                        $(Just(Self::$bare(Default::default())).boxed(),)*
                    ]).boxed()
                }
            }

            round_trip! { $name: $pb, $wit; }
        };
    }

    macro_rules! values {
        ($name:ident: $pb:ty, $wit:ty, $used:ident; $($value:ident => $case:ident,)* - $unset:ident,) => {
            impl Sample for $pb {
                fn sample() -> BoxedStrategy<Self> {
                    select(vec![$(Self::$value),*]).boxed()
                }
            }

            round_trip! { $name: $pb, $wit; }
        };
    }

    include!(concat!(env!("OUT_DIR"), "/conversions.rs"));
}
