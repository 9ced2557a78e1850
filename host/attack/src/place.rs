//! The directory of one host under attack: its configuration, its files, and what stands beside its grant and must not
//! be touched. Starts nothing.

use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::limits::Without;
use super::model::{Act, Attack, Guest};
use super::modules;
use drivebay_observe::drill::Defence;

/// Volumes that are published at once, each with an image of its own: more than all places of the helper.
pub(super) const RENEWALS: usize = 72;

/// What stands beside the grant, in files. No secret of a call: those are masked.
pub(super) const OUTSIDE: &str = "attack-outside-91d3";
/// A secret of the calls.
pub(super) const SECRET: &str = "attack-secret-5f2c";
/// The same in hexadecimal digits.
pub(super) const SECRET_IN_DIGITS: &str = "61747461636b2d7365637265742d35663263";
/// How the same begins as a text in JSON whose letters are all escaped.
pub(super) const SECRET_ESCAPED: &str = "u0061\\u0074";
/// Bytes of the file that jobs are to copy.
const LARGE: usize = 48 << 20;
/// Of each image that is large for those who check it, in bytes.
const HUGE: u64 = 1 << 39;
/// What the file `plain/secret` of the grant has: reading it proves that nothing else was read.
const PLAIN: &str = "plain";

/// What the volume is called that is one of [`RENEWALS`].
pub(super) fn renewed(number: usize) -> String {
    format!("bad-{number}")
}

/// What all attacks of a run share.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// A directory of our own.
    pub(super) root: PathBuf,
    /// The hostile guest.
    pub(super) guest: Vec<u8>,
    pub(super) without: Without,
    /// Compiled code of a run before, so that not every host compiles the same; none yet.
    pub(super) code: Option<PathBuf>,
    /// Whether hosts have the limits that they are released with, and not those that are soon run into.
    pub(super) as_released: bool,
}

/// Where one host has everything. Gone when it is dropped.
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) without: Without,
    as_released: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left over is below the run's own directory, which goes at its end.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Place {
    pub(super) fn new(stage: &Stage, attack: &Attack) -> Result<Self> {
        let place =
            Self { directory: stage.root.join(attack.id), without: stage.without, as_released: stage.as_released };
        for directory in ["data/plain", "state", "pods", "elsewhere", "beside"] {
            std::fs::create_dir_all(place.at(directory))?;
        }
        for (file, text) in [("secret", OUTSIDE), ("data/file", "data"), ("data/plain/secret", PLAIN)] {
            std::fs::write(place.at(file), text)?;
        }
        std::fs::File::create(place.at("outside.img"))?.set_len(1 << 20)?;
        std::fs::write(place.at("beside/file"), OUTSIDE)?;
        let links = [("trap", "../secret"), ("way", ".."), ("image-link", "../outside.img")];
        for (link, to) in links {
            symlink(to, place.at("data").join(link))?;
        }
        mknodat(CWD, place.at("data/fifo"), FileType::Fifo, Mode::RWXU, 0)?;
        if attack.by == "jobs" {
            std::fs::write(place.at("data/large"), vec![1; LARGE])?;
        }
        if attack.act == Act::Renew {
            let images = place.at("data/huge");
            std::fs::create_dir_all(&images)?;
            (0..RENEWALS).try_for_each(|n| huge_image(&images.join(format!("id-{}.img", renewed(n)))))?;
        }
        std::fs::write(place.at("neighbour.wasm"), &stage.guest)?;
        let component = match attack.guest {
            Guest::Does(..) => stage.guest.clone(),
            Guest::Starts(module) => modules::with(&stage.guest, module),
        };
        std::fs::write(place.at("attacker.wasm"), component)?;
        if let Some(code) = &stage.code {
            copy(code, &place.at("state/code"))?;
        }
        std::fs::write(place.at("host.toml"), place.configuration(attack, &[])?)?;
        Ok(place)
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The configuration of the host: the neighbour, the attacker, and others that do a deed at a place.
    pub(super) fn configuration(&self, attack: &Attack, others: &[(&str, &str, &str)]) -> Result<String> {
        let directory = self.directory.display().to_string();
        let mut text = format!("[host]\nstate = \"{directory}/state\"\ntargets = [\"{directory}/pods\"]\n");
        let (at, deed) = match attack.guest {
            Guest::Does(at, deed) => (at, deed.replace("{place}", &directory)),
            Guest::Starts(_) => ("", String::new()),
        };
        let both = [("neighbour", "", ""), ("attacker", at, deed.as_str())];
        for (name, at, deed) in both.into_iter().chain(others.iter().copied()) {
            let file = if self.at(&format!("{name}.wasm")).exists() { name } else { "neighbour" };
            write!(
                text,
                "[[backend]]\nname = \"{name}\"\nnode-id = \"attacked\"\ncomponent = \"{directory}/{file}.wasm\"\n\
                 csi = \"unix://{directory}/{name}.sock\"\nsettings = {{ at = \"{at}\", deed = \"{deed}\" }}\n\
                 [backend.drain]\ntime = \"4s\"\n[backend.grants]\n{}[backend.limits]\n",
                self.grants(attack, name == "neighbour")
            )?;
            // What all share is to be had with all that the released limits allow.
            if self.as_released || (attack.by == "shares" && name == "attacker") {
                continue;
            }
            // The neighbour never runs into a time: what it sees is the attacker's doing.
            let meant = if name == "neighbour" { Vec::new() } else { attack.meant() };
            for (limit, value) in self.without.numbers(&meant) {
                writeln!(text, "{limit} = \"{value}\"")?;
            }
        }
        Ok(text)
    }

    fn grants(&self, attack: &Attack, is_neighbour: bool) -> String {
        let directory = self.directory.display();
        let own = format!("{{ host = \"{directory}/data\", guest = \"/data\", write = true }}");
        let everything = format!("{{ host = \"{directory}\", guest = \"{directory}\", write = true }}");
        let above = format!("{{ host = \"{directory}\", guest = \"/\", write = true }}");
        let directories =
            match (self.without == Without::Defence(Defence::Grants) && !is_neighbour, attack.act.is_on_a_node()) {
                (false, _) => own,
                (true, true) => format!("{own}, {everything}"),
                (true, false) => format!("{above}, {everything}"),
            };
        let mut text = format!("directories = [{directories}]\n");
        if attack.act.is_on_a_node() {
            text.push_str("node = true\n");
        }
        if attack.act == Act::Fetch {
            text.push_str(if self.without == Without::Network { OPEN } else { NARROW });
        }
        text
    }

    pub(super) fn log(&self) -> String {
        self.log_from(0)
    }

    /// What the log says from this byte on.
    pub(super) fn log_from(&self, begin: u64) -> String {
        let mut bytes = Vec::new();
        let read = std::fs::File::open(self.at("log")).and_then(|mut file| {
            file.seek(SeekFrom::Start(begin))?;
            file.read_to_end(&mut bytes)
        });
        // No log says nothing.
        read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn log_length(&self) -> u64 {
        std::fs::metadata(self.at("log")).map_or(0, |file| file.len())
    }

    /// Whether the attacker has reached anything beside its grant.
    pub(super) fn is_touched(&self) -> bool {
        let secret = std::fs::read_to_string(self.at("secret"));
        secret.is_ok_and(|text| text != OUTSIDE) || self.at("taken").exists() || !self.at("data/file").exists()
    }

    /// How many bytes of this value the state holds.
    pub(super) fn stored(&self, byte: u8) -> usize {
        let mut folders = vec![self.at("state")];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                // Compiled code is the host's own.
                if path.is_dir() && path.file_name().is_some_and(|name| name != "code") {
                    folders.push(path);
                } else if let Ok(bytes) = std::fs::read(&path) {
                    count += bytes.split(|it| *it == byte).count() - 1;
                }
            }
        }
        count
    }

    /// Mounts and loop devices of this place, in words.
    pub(super) fn holds(&self) -> Vec<String> {
        let directory = self.directory.display().to_string();
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mounts = table.lines().filter_map(|line| line.split(' ').nth(4));
        let mounts = mounts.filter(|path| path.starts_with(&directory)).map(|path| format!("a mount at {path}"));
        let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let files = devices.filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok());
        let files = files.filter(|file| file.starts_with(&directory));
        mounts.chain(files.map(|file| format!("a loop device on {}", file.trim()))).collect()
    }
}

/// What the backends of a host in a network of its own are granted.
const NARROW: &str = r#"http = [
  { origin = "http://array.test", addresses = ["10.1.0.0/16"] },
  { origin = "http://rebind.test", addresses = ["10.1.0.0/16"] },
  "http://*.pub.test",
]
"#;

/// The same where the attacks on it are granted what they want.
const OPEN: &str = r#"http = [
  { origin = "http://array.test", addresses = ["10.1.0.0/16"] },
  { origin = "http://array.test:8080", addresses = ["10.1.0.0/16"] },
  { origin = "http://rebind.test", addresses = ["10.1.0.0/16", "169.254.169.254"] },
  { origin = "http://*.pub.test", addresses = ["10.0.0.0/8", "64:ff9b::/96", "169.254.169.254"] },
  { origin = "http://evil.test", addresses = ["10.0.0.0/8"] },
  { origin = "http://*.evil.test", addresses = ["10.0.0.0/8"] },
  "http://169.254.169.254", "http://127.0.0.1",
]
"#;

/// A sparse image with an empty file system, which takes a third of a second and more to check and to change.
fn huge_image(path: &Path) -> Result<()> {
    std::fs::File::create(path)?.set_len(HUGE)?;
    let made =
        Command::new("mkfs.ext4").args(["-q", "-F", "-O", "^has_journal"]).arg(path).output().context("mkfs.ext4")?;
    if !made.status.success() {
        bail!("mkfs.ext4: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(())
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        // With its permission bits, without which the cache does not trust it.
        std::fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
