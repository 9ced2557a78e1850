//! The program: puts the backends that it has inside before the rest of it, and hands its answer to the shell.
//! Nothing else is here, so that an edit of a guest compiles nothing but this.

use drivebay_app::BuiltIn;

static BUILT_IN: BuiltIn = BuiltIn {
    local: drivebay_guests::LOCAL,
    #[cfg(feature = "drill")]
    faulty: drivebay_guests::FAULTY,
};

fn main() -> std::process::ExitCode {
    drivebay_app::main(&BUILT_IN)
}
