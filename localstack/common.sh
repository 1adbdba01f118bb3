# Functions that run.sh and sam-local.sh share: they start Docker, and stop what a script started. Source this file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/lib.sh
work=.cache/localstack
mkdir -p "$work"

# Helpers for a machine without Docker and an image registry. If the helpers are absent, the scripts
# use ordinary Docker.
machine=../shared/tools/machine
machine_state=${MACHINE_STATE:-/tmp/machine}
on_machine=
[ -x "$machine/docker-up" ] && on_machine=1

# at_end COMMAND… registers a command for the script's exit. Commands run in reverse order.
endings=()
at_end() { endings=("$(printf '%q ' "$@")" ${endings[@]+"${endings[@]}"}); }
finish() {
  local code=$? e
  trap - EXIT
  trap '' INT TERM HUP
  set +e
  [ $code = 0 ] || failed $code
  for e in ${endings[@]+"${endings[@]}"}; do eval "$e"; done
  exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# failed prints the logs; a script sets its own list in `logs`.
logs=()
failed() {
  [ $1 != 130 ] || return 0
  tails ${logs[@]+"${logs[@]}"}
  [ -z "$on_machine" ] || tails "$machine_state"/*.log "$machine_state"/ddb/mvn.log
}

# A script records each process that it starts in `$work/<name>.pid`: its own pid and the pid of
# the process. If the script is killed, the next run stops the process.
started() { printf '%s %s\n' $$ "${2:-}" >"$work/$1.pid"; }
end_started() { [ ! -e "$work/$1.pid" ] || { end "$2" && rm -f "$work/$1.pid"; }; }
# left NAME reports whether a killed run left a process, and sets `pid`.
left() {
  local by
  read -r by pid 2>/dev/null <"$work/$1.pid" && ! alive "$by" localstack/
}
# end_left NAME PATTERN stops the process that a killed run left.
end_left() {
  local pid=
  left "$1" || return 0
  ! alive "$pid" "$2" || end "$pid"
  rm -f "$work/$1.pid"
}
# noted NAME COMMAND… runs a long command. It stops with the script or at the next run.
noted() {
  local name=$1
  shift
  "$@" &
  started "$name" $!
  at_end end_started "$name" $!
  wait $!
  rm -f "$work/$name.pid"
}
# end_to_end runs the end-to-end suite on the deployment at SVC_URL.
end_to_end() { noted e2e "$work/e2e.test" -test.v -test.run TestEndToEnd; }

# forget FILE PATTERN removes a pid file if its process has ended or the pid now belongs to
# another process.
forget() { [ ! -e "$1" ] || alive "$(cat "$1")" "$2" || rm -f "$1"; }

# ---- Docker. If the script started Docker, it stops it again, unless KEEP is set.

need_docker() {
  if [ -z "$on_machine" ]; then
    docker info >/dev/null 2>&1 && return 0
    echo 'Docker does not run: start it, or install it (https://docs.docker.com/get-docker/).' >&2
    return 1
  fi
  local pid=
  mkdir -p "$machine_state"
  forget /var/run/docker.pid dockerd
  forget /var/run/docker/containerd/containerd.pid containerd
  forget "$machine_state/dockerd.pid" dockerd
  if [ ! -e /var/run/docker.pid ] || ! until_up 60 docker info; then
    end_docker # it may run without responding
    started docker
    [ -n "${KEEP:-}" ] || at_end end_docker
  elif left docker; then
    started docker
    [ -n "${KEEP:-}" ] || at_end end_docker
  fi
  command -v dockerd >/dev/null && command -v debootstrap >/dev/null && command -v docker-registry >/dev/null ||
    packages docker.io debootstrap docker-registry
  retry "$machine/docker-up" >/dev/null
}

# end_docker stops the machine's Docker and everything that runs in it.
end_docker() {
  local dockerd containerd
  dockerd=$(cat /var/run/docker.pid 2>/dev/null) || dockerd=
  containerd=$(cat /var/run/docker/containerd/containerd.pid 2>/dev/null) || containerd=
  if alive "$dockerd" dockerd; then
    timeout 60 docker ps --all --quiet | timeout 60 xargs -r docker rm --force >/dev/null
    end "$dockerd" 60
  fi
  ! alive "$containerd" containerd || end "$containerd"
  rm -f /var/run/docker.pid "$machine_state/dockerd.pid" "$work/docker.pid"
}

case $(uname -m) in
  x86_64 | amd64) arch=amd64 sam_arch=x86_64 ;;
  *) arch=arm64 sam_arch=arm64 ;;
esac
