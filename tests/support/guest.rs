//! The components that the build leaves on its shelf. Knows where they are and whether they are
//! there; builds nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A component by its name on the shelf.
#[derive(Debug, Clone, Copy)]
pub struct Guest(pub &'static str);

impl Guest {
    /// The backend that does what it is told.
    pub const TESTER: Self = Self("tester");
    /// The reference backend.
    pub const LOCAL: Self = Self("local");

    /// The file.
    pub fn path(self) -> PathBuf {
        let program = Path::new(env!("CARGO_BIN_EXE_drivebay"));
        let target = program.ancestors().nth(2).expect("the program lies in a profile's folder");
        target.join("guests").join(format!("{}.wasm", self.0))
    }

    /// Whether a component of another toolchain was built. Its absence is said aloud, and is a
    /// failure where everything must have been built.
    pub fn is_built(self) -> bool {
        if self.path().is_file() {
            return true;
        }
        // What `.ci/guests` says where a machine has no toolchain for it.
        if let Ok(words) = std::fs::read_to_string(self.path().with_extension("skipped")) {
            let _ = writeln!(std::io::stderr(), "{}", words.trim_end());
            return false;
        }
        let words = format!("target/guests/{}.wasm is not built", self.0);
        assert!(std::env::var("CI").is_err(), "{words}, and with CI=true it must be");
        // Past the test harness, which keeps what a passing test prints to itself.
        let _ = writeln!(std::io::stderr(), "skipped: {words}");
        false
    }
}
