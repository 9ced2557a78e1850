//! Keys: the array's master key, and for each volume a key that seals the key of its blocks.
//!
//! It owns sealing and rotation; blocks are encrypted in `cipher`. The key of the blocks stays for
//! the volume's life and is sealed anew when the volume's key is rotated, because encrypting a
//! volume's blocks again would take hours.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::array::hex;
use crate::refusal::{Refusal, Result};

/// Bytes of a key that seals.
const SEALING: usize = 32;

/// Bytes of the key of a volume's blocks: two AES-256 keys.
pub(crate) const BLOCKS: usize = 64;

/// A volume's keys, sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRecord {
    /// Counts rotations, from 1.
    pub(crate) version: u64,
    /// The client's name of the last rotation.
    pub(crate) rotation: Option<String>,
    sealed: Sealed,
}

/// The field of a record that nobody is shown.
pub(crate) const SEALED: &str = "sealed";

/// What opens a volume's blocks, together with the master key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sealed {
    /// Tells whether a key that a client gives is the present one; none: the array made it.
    fingerprint: Option<String>,
    /// The volume's key, sealed with the master key, as hexadecimal digits.
    key: String,
    /// The key of the blocks, sealed with the volume's key, as hexadecimal digits.
    blocks: String,
}

/// The master key.
pub(crate) struct Keys {
    master: LessSafeKey,
    random: SystemRandom,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Reads the master key, or makes it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let random = SystemRandom::new();
        let bytes = if let Ok(bytes) = fs::read(path) {
            bytes
        } else {
            let bytes = draw::<SEALING>(&random)?.to_vec();
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            bytes
        };
        Ok(Self { master: sealing(&bytes)?, random })
    }

    /// Random bytes.
    pub(crate) fn draw<const N: usize>(&self) -> Result<[u8; N]> {
        draw(&self.random)
    }

    /// Keys for a new volume: blocks of their own, or those of a volume that it is a copy of.
    pub(crate) fn make(&self, model: Option<&KeyRecord>) -> Result<KeyRecord> {
        let blocks = match model {
            Some(model) => self.blocks(model)?,
            None => self.draw::<BLOCKS>()?,
        };
        self.sealed(&blocks, None, 1)
    }

    /// The key of a volume's blocks.
    pub(crate) fn blocks(&self, record: &KeyRecord) -> Result<[u8; BLOCKS]> {
        let key = sealing(&open(&self.master, &record.sealed.key)?)?;
        let blocks = open(&key, &record.sealed.blocks)?;
        blocks.try_into().map_err(|_| Refusal::internal("a key", "has another length"))
    }

    /// Seals the key of the blocks with a new key: the given one, or one that is drawn. The same
    /// rotation again, by its name or by the key given, changes nothing.
    pub(crate) fn rotate(&self, record: &KeyRecord, name: &str, given: Option<&str>) -> Result<KeyRecord> {
        let present = given.is_some() && given.map(fingerprint) == record.sealed.fingerprint;
        if present || record.rotation.as_deref() == Some(name) {
            return Ok(record.clone());
        }
        let mut rotated = self.sealed(&self.blocks(record)?, given, record.version + 1)?;
        rotated.rotation = Some(name.to_owned());
        Ok(rotated)
    }

    fn sealed(&self, blocks: &[u8], given: Option<&str>, version: u64) -> Result<KeyRecord> {
        let key = match given {
            Some(given) => digest(&SHA256, format!("volume key {given}").as_bytes()).as_ref().to_vec(),
            None => self.draw::<SEALING>()?.to_vec(),
        };
        let fingerprint = given.map(fingerprint);
        let blocks = self.seal(&sealing(&key)?, blocks)?;
        let sealed = Sealed { fingerprint, blocks, key: self.seal(&self.master, &key)? };
        Ok(KeyRecord { version, rotation: None, sealed })
    }

    fn seal(&self, key: &LessSafeKey, plain: &[u8]) -> Result<String> {
        let nonce = self.draw::<NONCE_LEN>()?;
        let mut sealed = plain.to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
            .map_err(|error| Refusal::internal("sealing a key", error))?;
        Ok(hex(&[&nonce[..], &sealed].concat()))
    }
}

fn open(key: &LessSafeKey, sealed: &str) -> Result<Vec<u8>> {
    let broken = || Refusal::internal("a sealed key", "cannot be opened");
    let bytes = |place| u8::from_str_radix(sealed.get(place..place + 2)?, 16).ok();
    let sealed: Option<Vec<u8>> = (0..sealed.len()).step_by(2).map(bytes).collect();
    let sealed = sealed.ok_or_else(broken)?;
    let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(broken)?;
    let mut body = body.to_vec();
    let plain =
        key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut body).map_err(|_| broken())?;
    Ok(plain.to_vec())
}

fn sealing(bytes: &[u8]) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|error| Refusal::internal("a key", error))?;
    Ok(LessSafeKey::new(key))
}

fn fingerprint(given: &str) -> String {
    hex(digest(&SHA256, format!("fingerprint {given}").as_bytes()).as_ref())
}

fn draw<const N: usize>(random: &SystemRandom) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    random.fill(&mut bytes).map_err(|error| Refusal::internal("random numbers", error))?;
    Ok(bytes)
}
