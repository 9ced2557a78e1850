//! Why a component is not loaded, in words that say what to do, and the row of the table of refusals that it is.

use super::contract_version::OtherVersion;
use super::facts::FactError;
use super::gate::{Refusal, RefusalId};
use drivebay_observe::text::tame;
use drivebay_sandbox::fault::Fault;
use drivebay_sandbox::loading::LoadError;
use drivebay_signature::SignatureError;

/// Bytes of the words of one refusal: they stand in a line of the log, and in the history for long.
const WORDS: usize = 4096;

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is another file than the operator pinned.
    #[error("its digest is sha256:{found}, and the configuration allows only {pinned}")]
    Digest {
        /// What it is.
        found: String,
        /// What it should be.
        pinned: String,
    },
    /// It is not signed by whom the configuration demands.
    #[error("its signature {path}: {source}")]
    Signature {
        /// The signature's file.
        path: String,
        /// What is wrong.
        source: SignatureError,
    },
    /// The configuration demands a signature, and there is none.
    #[error("the configuration demands a signature, and there is no {0}")]
    Unsigned(String),
    /// It cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It exports the contract in another version.
    #[error("{0}")]
    Contract(OtherVersion),
    /// It exports no identity.
    #[error("it is no backend: it does not export drivebay:backend/identity@0.1.0 ({0})")]
    NoBackend(String),
    /// An interface it exports is not the contract's.
    #[error("an interface that it exports is not the contract's: {0}")]
    Types(String),
    /// What it says of itself is refused.
    #[error(transparent)]
    Facts(#[from] FactError),
    /// It answered an error when asked who it is, how it feels or whether it is well.
    #[error("{call} failed: {message}")]
    Refusal {
        /// The function.
        call: &'static str,
        /// Its words.
        message: String,
    },
    /// It crashed when asked.
    #[error("{call}: {fault} ({})", .fault.detail)]
    Fault {
        /// The function.
        call: &'static str,
        /// What ended it.
        fault: Fault,
    },
    /// What it is given cannot be made ready.
    #[error("{0}")]
    Surroundings(String),
    /// The thread that compiled was lost.
    #[error("compiling was interrupted")]
    Interrupted,
}

impl Refused {
    /// Its row in the table of refusals.
    pub fn refusal(&self) -> Refusal {
        let id = match self {
            Self::Unreadable { .. } => RefusalId::Unreadable,
            Self::Digest { .. } => RefusalId::Digest,
            Self::Unsigned(_) => RefusalId::Unsigned,
            Self::Signature { .. } => RefusalId::Signature,
            Self::Load(LoadError::Broken(_)) => RefusalId::Broken,
            Self::Load(LoadError::Costly(_)) => RefusalId::Costly,
            Self::Load(LoadError::Large(_)) => RefusalId::Large,
            Self::Load(LoadError::Precompiled | LoadError::CoreModule | LoadError::Link(_)) | Self::NoBackend(_) => {
                RefusalId::Foreign
            }
            Self::Load(LoadError::Contract(_)) | Self::Contract(_) | Self::Types(_) => RefusalId::Contract,
            Self::Load(LoadError::Engine(_)) | Self::Surroundings(_) => RefusalId::Surroundings,
            Self::Facts(FactError::Grants(_)) => RefusalId::Grants,
            Self::Refusal { call: "probe", .. } | Self::Fault { call: "probe", .. } => RefusalId::Probe,
            Self::Refusal { call: "self-test", .. } | Self::Fault { call: "self-test", .. } => RefusalId::SelfTest,
            Self::Facts(_) | Self::Refusal { .. } | Self::Fault { .. } => RefusalId::Describe,
            Self::Interrupted | Self::Load(LoadError::Cancelled) => RefusalId::Host,
        };
        // A vendor's words were cut before; a list of them must be bounded as well.
        Refusal::new(id, tame(&self.to_string(), WORDS))
    }
}
