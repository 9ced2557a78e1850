//! Functions of WASI as no toolchain calls them: more at once than was allowed, and links of any kind.

use std::hint::black_box;

use wasip2::cli::stdout;
use wasip2::clocks::monotonic_clock;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::Descriptor;
use wasip2::io::poll;

/// Waits for one timer, which is named so many times, over and over.
pub(crate) fn polls(count: u64) {
    let timer = monotonic_clock::subscribe_duration(0);
    let all = vec![&timer; usize::try_from(count).unwrap_or(0)];
    for _ in 0..4 {
        black_box(poll::poll(&all));
    }
}

/// So many mebibytes of lines on standard output, in one call of the host.
pub(crate) fn one_write(mebibytes: u64) {
    let lines = b"y\n".repeat(usize::try_from(mebibytes << 19).unwrap_or(0));
    let _ = black_box(stdout::get_stdout().write(&lines));
}

/// The granted directory; none: it has another name.
fn data() -> Option<Descriptor> {
    preopens::get_directories().into_iter().find(|(_, name)| name == "/data").map(|(root, _)| root)
}

/// Makes a link in it, if there is nothing of that name yet.
pub(crate) fn symlink(to: &str, name: &str) {
    if let Some(root) = data() {
        let _ = root.symlink_at(to, name);
    }
}
