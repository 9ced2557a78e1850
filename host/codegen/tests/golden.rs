//! Compares the generated rows of two services with files that people have read.
//!
//! A change of the contracts or of the generator shows there as a difference to review. After looking
//! at it, refresh the files by running this test with `DRIVEBAY_BLESS=1`.

use std::path::Path;
use std::{env, fs};

use drivebay_codegen::{Contracts, TABLE, expand};

const HEADER: &str = "\
//! What the generator makes of one service: its own conversions, then its calls.
//!
//! It owns nothing and is never compiled; host/codegen/tests/golden.rs compares it, because a wrong
//! pair is easier to see in a diff than in a failing call.

";

#[test]
fn the_rows_of_two_services_are_as_reviewed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contracts =
        Contracts { proto: &root.join("../../proto"), wit: &root.join("../../wit"), world: "everything", table: TABLE };
    let tables = expand(&contracts).unwrap();
    for service in ["csi.v1.GroupController", "fence.FenceController"] {
        let (conversions, calls) = &tables.services[service];
        let made = format!("{HEADER}{}\n", format!("{conversions}{calls}").trim_end());
        let file = root.join(format!("tests/expanded/{service}.rs"));
        if env::var_os("DRIVEBAY_BLESS").is_some() {
            fs::write(&file, &made).unwrap();
        }
        let reviewed = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(made, reviewed, "{service} differs; look at it, then run with DRIVEBAY_BLESS=1");
    }
}
