//! `drivebay keygen` and `drivebay sign`: a vendor's keys, and signatures beside components. No network, no
//! running host.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;

use super::{Exit, check, print, say};
use drivebay_backend::signature;

const KEYGEN: &str = "Makes NAME.key, which stays secret, and NAME.pub, which goes into `signers` of a configuration.

Example:
  drivebay keygen vendor";
const SIGN: &str = "Writes FILE.wasm.sig: an ed25519 signature over the component's digest, name and version.

Example:
  drivebay sign backend.wasm --key vendor.key";

/// What `keygen` is told.
#[derive(Debug, Parser)]
#[command(after_help = KEYGEN)]
pub(crate) struct Keygen {
    /// What both files are called, before their endings.
    #[arg(default_value = "drivebay")]
    name: PathBuf,
}

/// What `sign` is told.
#[derive(Debug, Parser)]
#[command(after_help = SIGN)]
pub(crate) struct Sign {
    /// The component.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// The secret key, as `keygen` made it.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Makes a pair of keys.
pub(crate) fn keygen(args: &Keygen) -> Exit {
    let ending = |ending: &str| {
        let mut name = args.name.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    finish((|| {
        let (secret, public) = signature::generate().context("the system gives no random numbers")?;
        let (key, shared) = (ending(".key"), ending(".pub"));
        write_new(&key, &secret, 0o600)?;
        write_new(&shared, &public, 0o644)?;
        print(&format!("{} is secret; {} goes into `signers`", key.display(), shared.display()));
        Ok(())
    })())
}

/// Signs a component.
pub(crate) fn sign(args: &Sign, local: &'static [u8]) -> Exit {
    finish((|| {
        let secret = std::fs::read_to_string(&args.key).with_context(|| args.key.display().to_string())?;
        let beside = std::path::absolute(&args.file)?.parent().map(std::path::Path::to_owned);
        check::give_up_rights(&[std::env::temp_dir()].into_iter().chain(beside).collect::<Vec<_>>(), None)?;
        let claim = check::claim(&args.file, local)?;
        let text = signature::sign(&claim, &secret).with_context(|| args.key.display().to_string())?;
        let path = signature::beside(&args.file);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        print(&format!("{}: {} {}, sha256:{}", path.display(), claim.name, claim.version, claim.digest));
        Ok(())
    })())
}

/// A key that is there is never overwritten: what it signed could not be signed again.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| path.display().to_string())
}

fn finish(done: Result<()>) -> Exit {
    match done {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}
