//! The backends that are inside of the program, for benchmarks that are hosts themselves.

use drivebay_app::BuiltIn;

pub(crate) static BUILT_IN: BuiltIn = BuiltIn {
    local: drivebay_guests::LOCAL,
    #[cfg(feature = "drill")]
    faulty: drivebay_guests::FAULTY,
};
