//! A process that writes through a published volume without a pause and ends at the first write that
//! fails. It knows nothing of the host: it is the pod.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::ioctl_fionbio;
use tokio::process::{Child, Command};

use crate::support::Log;
use crate::support::site::Content;

/// Lines of nine bytes, each with its number, one open and one write a line. A word is said for every
/// tenth line; the end is when the stop file appears.
const INTO_FILE: &str = r#"i=0; while [ ! -e "$2" ]; do i=$((i+1)); printf '%08d\n' $i >>"$1" || exit 1;
    [ $((i % 10)) -ne 0 ] || echo tick; done; echo "$i lines""#;
/// The same into a device, flushed line by line.
const INTO_DEVICE: &str = r#"i=0; while [ ! -e "$2" ]; do printf '%08d\n' $((i+1)) |
    dd of="$1" bs=9 seek=$((i + 200000)) count=1 conv=notrunc,fsync status=none || exit 1; i=$((i+1));
    [ $((i % 10)) -ne 0 ] || echo tick; done; echo "$i lines""#;

/// Where the lines begin in a device.
const IN_DEVICE: usize = 9 * 200_000;

/// The running process.
#[derive(Debug)]
pub struct Writer {
    child: Child,
    words: Log,
    content: Content,
    written: PathBuf,
    stop: PathBuf,
}

impl Writer {
    /// Begins to write. `stop` must not exist yet.
    pub fn start(content: Content, target: &str, stop: PathBuf) -> Self {
        let (script, written) = match content {
            Content::Block => (INTO_DEVICE, PathBuf::from(target)),
            _ => (INTO_FILE, Path::new(target).join("lines")),
        };
        let mut command = Command::new("sh");
        command.args(["-c", script, "writer"]).arg(&written).arg(&stop).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap().into_owned_fd().unwrap();
        ioctl_fionbio(&stdout, false).unwrap();
        Self { child, words: Log::of(stdout), content, written, stop }
    }

    /// Waits until it has written more than it had when this was called.
    pub async fn goes_on(&self) {
        let ticks = self.words.with("tick").len();
        let told = self.words.wait_or_end("tick", ticks + 3).await;
        assert!(told.is_some(), "the writer ended: a write failed");
    }

    /// Ends it; every line that it ever wrote must be there.
    pub async fn finish(mut self) {
        std::fs::write(&self.stop, "").unwrap();
        let status = self.child.wait().await.unwrap();
        self.words.closed().await;
        assert!(status.success(), "a write failed: {status}, {}", self.words.tail());
        let told = self.words.with(" lines").pop().expect("it says how many").text;
        let count: usize = told.trim_end_matches(" lines").parse().unwrap();
        let bytes = std::fs::read(&self.written).unwrap();
        let begin = if self.content == Content::Block { IN_DEVICE } else { 0 };
        let expected: Vec<u8> = (1..=count).flat_map(|line| format!("{line:08}\n").into_bytes()).collect();
        assert!(bytes[begin..].starts_with(&expected), "of {count} lines not all are there");
        self.erase(count);
    }

    /// Puts the volume back as it was.
    fn erase(&self, lines: usize) {
        use std::os::unix::fs::FileExt as _;
        if self.content == Content::Block {
            let device = std::fs::OpenOptions::new().write(true).open(&self.written).unwrap();
            device.write_all_at(&vec![0; 9 * lines], IN_DEVICE as u64).unwrap();
            device.sync_all().unwrap();
        } else {
            std::fs::remove_file(&self.written).unwrap();
        }
        std::fs::remove_file(&self.stop).unwrap();
    }
}
