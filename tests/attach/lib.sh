# What the walks on a kernel of `machine` share: the host and its configuration, steps that are timed, calls of the CSI and
# what must hold after them, and the two judges (csi-sanity, conform). Sourced first, with the walk's own arguments:
# PROGRAM COMPONENT. The walk ends at the first thing that is not so.
set -euo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
program=$1
component=$2
here=$(dirname "$(realpath "$0")")
config=/run/drivebay.toml
socket=/run/drivebay/csi.sock
addons=/run/drivebay/addons.sock
log=/run/drivebay.log
answer=/run/answer
host=
# What comes before programs that run on the node: a network of its own.
on_node=()
mkdir -p /pods "${socket%/*}"

# One line for what was done since the last one, with the milliseconds that it took.
since=$(date +%s%N)
step() {
  local now
  now=$(date +%s%N)
  printf '%6d ms  %s\n' $(((now - since) / 1000000)) "$*"
  since=$now
}

# To standard error, because some of what calls it is written down.
fail() {
  exec >&2
  echo "FAILED: $*"
  echo "--- the last answer"; cat "$answer" 2>/dev/null || true
  echo "--- the host's log"; tail -30 "$log" 2>/dev/null || true
  echo "--- mounts"; grep -E ' nfs4? ' /proc/self/mountinfo || true
  exit 1
}

# Waits until a command succeeds, for so many seconds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "never true: $*"
    sleep 0.1
  done
}

# The host's configuration: this backend. Arguments: name, its grants besides `node`, more of the backend.
configure() {
  cat >"$config" <<CONFIG
[host]
state = "/root/state"
targets = ["/pods"]
[[backend]]
name = "$1"
component = "$component"
csi = "unix://$socket"
node-id = "worker-1"
${3:-}
[backend.grants]
node = true
$2
[backend.limits]
calls = 4
[backend.drain]
time = "3s"
CONFIG
}

# The host, its launcher and its helpers end at once, as when the machine kills them.
killed() {
  kill -KILL "$host" $(pgrep -f 'node-(helper|launcher)') 2>/dev/null || true
  wait "$host" 2>/dev/null || true
}

# Starts the host; it is ready when its socket answers.
serve() {
  rm -f "$socket"
  "${on_node[@]}" "$program" serve --config "$config" >>"$log" 2>&1 &
  host=$!
  until [[ -S $socket ]]; do
    kill -0 "$host" 2>/dev/null || fail "the host has ended"
    sleep 0.1
  done
}

# One call. Arguments: service/method, request, time.
call() {
  "$program" call --socket "$socket" --timeout "${3:-60s}" "csi.v1.$1" "$2" >"$answer" 2>&1
}

# A call that must be done.
does() { call "$@" || fail "$1 was refused"; }

# A call that must be refused, with these words in what is said. Arguments: words, then those of `call`.
refuses() {
  local words=$1
  shift
  ! call "$@" || fail "$1 was done, and should be refused: $words"
  grep -q -- "$words" "$answer" || fail "$1 is refused without the words: $words"
}

mounted() { grep -q " $1 " /proc/self/mounts; }

# The client of the CSI project: all of it, the node's part as well. Arguments: its options.
sanity() {
  local dir=/pods/sanity
  mkdir -p "$dir"
  "${on_node[@]}" "$here/../../target/sanity-bin/csi-sanity" -csi.endpoint "unix://$socket" \
    -csi.mountdir "$dir/mount" -csi.stagingdir "$dir/staging" \
    -csi.testvolumesize 67108864 -csi.testvolumeexpandsize 134217728 -ginkgo.no-color "$@" >"$answer" 2>&1 || {
    grep -A20 -F '[FAILED]' "$answer" | head -100
    grep -E '^Ran |Passed' "$answer" || tail -5 "$answer"
    : >"$answer"
    fail "csi-sanity is not content"
  }
  grep -E '^Ran |Passed' "$answer"
  step "csi-sanity"
}

# The project's own suite, for what that client leaves out. Standard input: what it must know of the driver besides what
# all walks have. Arguments: its options.
conform() {
  local with=/run/with.toml
  mkdir -p /pods/conform
  # The walk's own words first: keys after a table are the table's.
  { cat; printf '[directories]\nwork = "/pods/conform"\n'; } >"$with"
  "$program" conform --csi "unix://$socket" --with "$with" "$@" >"$answer" 2>/run/progress || {
    grep -A9 -E '^(FAIL|BLOCKED)' "$answer" || true
    tail -1 "$answer"
    : >"$answer"
    fail "the suite is not content"
  }
  ! grep -A9 '^differs' "$answer" || fail "where the specifications are silent our own backends do as we have decided"
  tail -1 "$answer"
  step "conform"
}

# What all walks end with.
finish() {
  kill -TERM "$host"
  wait "$host" || fail "the host did not end well"
  echo "all of it: $SECONDS s"
}
