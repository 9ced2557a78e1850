# What the walks on a kernel of `machine` share: steps that are timed, calls of the CSI, and what must hold after them.
# Sourced; the walk ends at the first thing that is not so.
set -euo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
socket=/run/drivebay/csi.sock
log=/run/drivebay.log
answer=/run/answer
host=

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

# Starts the host; it is ready when its socket answers. Arguments: what comes before the program (a namespace).
serve() {
  rm -f "$socket"
  "$@" "$program" serve --config "$config" >>"$log" 2>&1 &
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
