//! The contract's imports, past the tape: what each function was given and what it answered is noted where the instance is
//! recorded. Where it is not, a call pays for one look at an empty option. `wasi:keyvalue` is not recorded: its buckets are
//! handles, and the same state has functions that are.

use wasmtime::component::{HasData, HasSelf, Linker};

use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::types::{Access, Error, Extent};
use drivebay_contract::bindings::drivebay::host::{attach, context, files, mounts, state};
use drivebay_contract::bindings::wasi::config::store as config;
use drivebay_contract::bindings::wasi::keyvalue::store as keyvalue;
use drivebay_contract::bindings::wasi::logging::logging;

/// The imports of one instance.
pub(crate) struct Recorded<'a>(&'a mut HostState);

/// What the engine knows them by.
struct Imports;

impl HasData for Imports {
    type Data<'a> = Recorded<'a>;
}

const fn recorded(state: &mut HostState) -> Recorded<'_> {
    Recorded(state)
}

/// Links them all.
///
/// # Errors
/// When two definitions clash, which is a mistake in this crate.
pub(crate) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    attach::add_to_linker::<_, Imports>(linker, recorded)?;
    config::add_to_linker::<_, Imports>(linker, recorded)?;
    context::add_to_linker::<_, Imports>(linker, recorded)?;
    files::add_to_linker::<_, Imports>(linker, recorded)?;
    logging::add_to_linker::<_, Imports>(linker, recorded)?;
    mounts::add_to_linker::<_, Imports>(linker, recorded)?;
    state::add_to_linker::<_, Imports>(linker, recorded)?;
    keyvalue::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    drivebay_contract::bindings::drivebay::host::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    drivebay_contract::bindings::drivebay::backend::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

/// The functions of an interface. A row: name in Rust and in WIT, arguments, answer.
macro_rules! recorded {
    ($interface:literal, $module:ident: $($rows:tt)*) => {
        impl $module::Host for Recorded<'_> {
            recorded!(@rows $interface, $module: $($rows)*);
        }
    };
    (@rows $interface:literal, $module:ident:) => {};
    (@rows $interface:literal, $module:ident:
        async $name:ident $wit:literal ($($argument:ident: $type:ty),*) -> $answer:ty; $($rest:tt)*) => {
        async fn $name(&mut self, $($argument: $type),*) -> wasmtime::Result<$answer> {
            let tape = self.0.tape.clone();
            let asked = tape.map(|tape| (tape.asked(&($(&$argument,)*)), tape));
            let answer = $module::Host::$name(&mut *self.0, $($argument),*).await?;
            if let Some((asked, tape)) = asked {
                tape.host(concat!($interface, ".", $wit), asked, &answer);
            }
            Ok(answer)
        }
        recorded!(@rows $interface, $module: $($rest)*);
    };
    (@rows $interface:literal, $module:ident:
        $name:ident $wit:literal ($($argument:ident: $type:ty),*) -> $answer:ty; $($rest:tt)*) => {
        fn $name(&mut self, $($argument: $type),*) -> wasmtime::Result<$answer> {
            let tape = self.0.tape.clone();
            let asked = tape.map(|tape| (tape.asked(&($(&$argument,)*)), tape));
            let answer = $module::Host::$name(&mut *self.0, $($argument),*)?;
            if let Some((asked, tape)) = asked {
                tape.host(concat!($interface, ".", $wit), asked, &answer);
            }
            Ok(answer)
        }
        recorded!(@rows $interface, $module: $($rest)*);
    };
}

recorded! { "drivebay:host/state", state:
    async get "get" (key: String) -> Result<Option<Vec<u8>>, state::Error>;
    async range "range" (prefix: String, after: Option<String>, limit: u32) -> Result<Vec<state::Entry>, state::Error>;
    async commit "commit" (changes: Vec<state::Change>) -> Result<(), state::Error>;
}

recorded! { "drivebay:host/context", context:
    host_id "host-id" () -> String;
    node_id "node-id" () -> Option<String>;
    call_id "call-id" () -> String;
    remaining_time "remaining-time" () -> u64;
    node_granted "node-granted" () -> bool;
}

recorded! { "wasi:config/store", config:
    get "get" (key: String) -> Result<Option<String>, config::Error>;
    get_all "get-all" () -> Result<Vec<(String, String)>, config::Error>;
}

recorded! { "wasi:logging/logging", logging:
    log "log" (level: logging::Level, context: String, message: String) -> ();
}

recorded! { "drivebay:host/files", files:
    async reflink "reflink" (source: String, target: String) -> Result<(), Error>;
    async reserve "reserve" (path: String, range: Extent) -> Result<(), Error>;
    async punch "punch" (path: String, range: Extent) -> Result<(), Error>;
    async list_allocated "list-allocated" (path: String, offset: u64, limit: u32) -> Result<files::Page, Error>;
    async list_differences "list-differences" (base: String, target: String, offset: u64, limit: u32)
        -> Result<files::DifferencePage, Error>;
    async get_allocation "get-allocation" (path: String) -> Result<files::Allocation, Error>;
    async get_space "get-space" (path: String) -> Result<files::Space, Error>;
    async sync "sync" (path: String) -> Result<(), Error>;
    async list_file_systems "list-file-systems" () -> Result<Vec<files::FileSystem>, Error>;
    async run_job "run-job" (key: String, job: files::Job, wait: u32) -> Result<files::JobState, Error>;
    async cancel_job "cancel-job" (key: String) -> Result<(), Error>;
}

recorded! { "drivebay:host/mounts", mounts:
    async attach_image "attach-image" (volume: String, image: String, access: Access) -> Result<(), Error>;
    async detach_image "detach-image" (volume: String) -> Result<(), Error>;
    async renew_uuid "renew-uuid" (volume: String, file_system: String) -> Result<(), Error>;
    async mount_device "mount-device" (request: mounts::MountRequest) -> Result<(), Error>;
    async bind "bind" (request: mounts::BindRequest) -> Result<(), Error>;
    async publish_device "publish-device" (volume: String, target: String, access: Access) -> Result<(), Error>;
    async unmount "unmount" (volume: String, target: String) -> Result<(), Error>;
    async set_access "set-access" (volume: String, target: String, access: Access) -> Result<(), Error>;
    async grow "grow" (volume: String) -> Result<u64, Error>;
    async trim "trim" (volume: String) -> Result<u64, Error>;
    async freeze "freeze" (volume: String) -> Result<(), Error>;
    async thaw "thaw" (volume: String) -> Result<(), Error>;
    async get_usage "get-usage" (volume: String, path: String) -> Result<Vec<mounts::Usage>, Error>;
    async set_group "set-group" (volume: String, target: String, group: u32) -> Result<(), Error>;
    async list_entries "list-entries" (volume: Option<String>) -> Result<Vec<mounts::LedgerEntry>, Error>;
}

recorded! { "drivebay:host/attach", attach:
    async mount_share "mount-share" (request: attach::ShareRequest) -> Result<(), Error>;
    async connect "connect" (request: attach::ConnectRequest) -> Result<(), Error>;
    async disconnect "disconnect" (volume: String) -> Result<(), Error>;
    async encrypt "encrypt" (volume: String, passphrase: String) -> Result<(), Error>;
    async unlock "unlock" (volume: String, passphrase: String) -> Result<(), Error>;
    async change_passphrase "change-passphrase" (volume: String, old: String, new: String) -> Result<(), Error>;
    async make_file_system "make-file-system" (volume: String, file_system: String) -> Result<(), Error>;
    async get_health "get-health" (volume: String) -> Result<attach::Health, Error>;
}
