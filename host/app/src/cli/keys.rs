//! `drivebay keygen` and `drivebay sign`: a vendor's keys, and signatures beside components. No network, no
//! running host.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;

use super::{Exit, check, kit, print, say};
use drivebay_package::RegistryOptions;
use drivebay_package::commands::Cosign;
use drivebay_policy::package::SCHEME;
use drivebay_signature as signature;

const KEYGEN: &str = "Makes NAME.key, which stays secret, and NAME.pub, which goes into `signers` of a configuration.

Example:
  drivebay keygen vendor";
const SIGN: &str = "Writes FILE.wasm.sig: an ed25519 signature over the component's digest, name and version.

With --cosign it writes FILE.wasm.sigstore.json, or attaches the signature to a package.

Examples:
  drivebay sign backend.wasm --key vendor.key
  drivebay sign oci://registry.example/vendor/array:1.2.0 --cosign vendor.key";

/// What `keygen` is told.
#[derive(Debug, Parser)]
#[command(after_help = KEYGEN)]
pub(crate) struct Keygen {
    /// A pair of cosign's kind (ECDSA P-256 in PEM, without a password), for `sign --cosign`.
    #[arg(long)]
    cosign: bool,
    /// What both files are called, before their endings.
    #[arg(default_value = "drivebay")]
    name: PathBuf,
}

/// What `sign` is told.
#[derive(Debug, Parser)]
#[command(after_help = SIGN)]
pub(crate) struct Sign {
    /// The component; with --cosign also a package in a registry.
    #[arg(value_name = "FILE.wasm|oci://REGISTRY/NAME:TAG")]
    file: PathBuf,
    /// The secret key, as `keygen` made it.
    #[arg(long, value_name = "FILE", required_unless_present = "cosign", conflicts_with = "cosign")]
    key: Option<PathBuf>,
    /// A secret key of cosign's kind in PEM, without a password: the signature is one that cosign verifies.
    #[arg(long, value_name = "FILE")]
    cosign: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryOptions,
}

/// Makes a pair of keys.
pub(crate) fn keygen(args: &Keygen) -> Exit {
    let ending = |ending: &str| {
        let mut name = args.name.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    finish((|| {
        let (secret, public) = if args.cosign {
            signature::generate_cosign()?
        } else {
            signature::generate().context("the system gives no random numbers")?
        };
        let (key, shared) = (ending(".key"), ending(".pub"));
        write_new(&key, &secret, 0o600)?;
        write_new(&shared, &public, 0o644)?;
        print(&format!("{} is secret; {} goes into `signers`", key.display(), shared.display()));
        Ok(())
    })())
}

/// Signs a component.
pub(crate) fn sign(args: &Sign, local: &'static [u8]) -> Exit {
    if let Some(key) = &args.cosign {
        return kit::told(Cosign::read(key).and_then(|key| match args.file.to_str() {
            Some(package) if package.starts_with(SCHEME) => key.package(package, &args.registry),
            _ => key.component(&args.file),
        }));
    }
    finish((|| {
        let key = args.key.as_deref().context("give a key")?;
        let secret = std::fs::read_to_string(key).with_context(|| key.display().to_string())?;
        let beside = std::path::absolute(&args.file)?.parent().map(std::path::Path::to_owned);
        check::give_up_rights(&[std::env::temp_dir()].into_iter().chain(beside).collect::<Vec<_>>(), None)?;
        let claim = check::claim(&args.file, local)?;
        let text = signature::sign(&claim, &secret).with_context(|| key.display().to_string())?;
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
