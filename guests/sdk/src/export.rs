//! The macro that says which interfaces a component has.
//!
//! It only passes the names on to the generated macro of each interface; whether the type
//! implements the trait, the compiler says.

/// Exports the named interfaces of `drivebay:backend` from this component, and no others.
///
/// The type must implement the trait of every interface named. `identity` is always needed: the
/// host loads nothing without it. Call it once, in the crate that becomes the component.
///
/// ```
/// # use drivebay_sdk::{Identity, Result, SelfTest};
/// struct Array;
///
/// impl Identity for Array {
///     const NAME: &'static str = "array.example.com";
///     const VERSION: &'static str = "1.0.0";
/// }
///
/// impl SelfTest for Array {
///     fn run_self_test() -> Result<()> {
///         Ok(())
///     }
/// }
///
/// drivebay_sdk::export!(Array: identity, self_test);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export {
    ($backend:ident : $($interface:ident),+ $(,)?) => {
        $($crate::$interface::export!($backend with_types_in $crate::$interface::bindings);)+
    };
}
