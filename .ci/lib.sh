# Functions of the scripts that install tools and start processes. Source this file.

# retry COMMAND… tries up to five times, with growing pauses, because package hosts sometimes fail.
retry() {
  local wait
  for wait in 5 15 30 60; do
    "$@" && return 0
    printf 'Failed, next attempt in %d s: %s\n' "$wait" "$*" >&2
    sleep "$wait"
  done
  "$@"
}

# packages NAME… installs Debian packages. It waits for other installations, and completes one that was killed.
packages() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "missing, install: $*" >&2; return 1; }
  [ -n "${packages_listed:-}" ] || { retry debian update && packages_listed=1; }
  retry debian install -y "$@"
}
debian() {
  local log code=0
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  dpkg --configure -a >"$log" 2>&1 || true # fails while another process holds the lock; apt-get waits for the lock
  apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 || { code=$?; tail -n 20 "$log" >&2; }
  rm -f "$log"
  return $code
}

# alive PID [PATTERN] reports whether the process runs and its command line matches the pattern. The pid in an old file
# may now belong to another process.
alive() {
  local state
  [ -n "${1:-}" ] && kill -0 "$1" 2>/dev/null || return 1
  state=$(ps -o stat= -p "$1" 2>/dev/null) || return 1
  case $state in Z*) return 1 ;; esac
  [ -z "${2:-}" ] || ps -o args= -p "$1" 2>/dev/null | grep -q -- "$2"
}

# end PID [SECONDS] terminates a process and waits for its end. After 30 seconds, or SECONDS, it kills the process.
end() {
  alive "$1" || return 0
  kill "$1" 2>/dev/null || return 0
  for _ in $(seq $((${2:-30} * 5))); do alive "$1" || return 0; sleep 0.2; done
  kill -9 "$1" 2>/dev/null || true
}

# until_up SECONDS COMMAND… waits until the command succeeds. It fails after that time, or at once if `while_alive` is
# the pid of a process that has ended.
until_up() {
  local limit=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $limit ] || return 1
    [ -z "${while_alive:-}" ] || alive "$while_alive" || return 1
    sleep 0.3
  done
}

# tails FILE… prints the last 40 lines of each log.
tails() {
  local f
  for f in "$@"; do
    [ -s "$f" ] || continue
    printf '==> the end of %s\n' "$f" >&2
    tail -n 40 "$f" >&2
  done
}
