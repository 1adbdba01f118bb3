# What run.sh and sam-local.sh share: Docker, and ending what was started. To be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=.cache/localstack
mkdir -p "$work"

# Tools of a machine that has neither Docker nor an image registry; elsewhere they are not there and ordinary Docker does.
machine=../shared/tools/machine
machine_state=${MACHINE_STATE:-/tmp/machine}
machine_docker() { [ -f "$machine_state/dockerd.pid" ] && kill -0 "$(cat "$machine_state/dockerd.pid")" 2>/dev/null; }
on_machine=
if [ -x "$machine/docker-up" ] && { ! docker info >/dev/null 2>&1 || machine_docker; }; then
  on_machine=1
fi

# at_end COMMAND… runs when the script ends, the last one first.
endings=()
at_end() { endings=("$(printf '%q ' "$@")" ${endings[@]+"${endings[@]}"}); }
finish() {
  local code=$? e
  trap - EXIT INT TERM
  for e in ${endings[@]+"${endings[@]}"}; do eval "$e" || true; done
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# end PID ends a process that was started here, and waits for it.
end() {
  kill "$1" 2>/dev/null || return 0
  for _ in $(seq 100); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.2; done
  kill -9 "$1" 2>/dev/null || true
}

need_docker() {
  if [ -n "$on_machine" ]; then
    local ran=
    machine_docker && ran=1
    "$machine/docker-up" >/dev/null
    [ -n "$ran" ] || at_end end_machine_docker
  elif ! docker info >/dev/null 2>&1; then
    echo 'Docker does not run: start it, or install it (https://docs.docker.com/get-docker/).' >&2
    exit 1
  fi
}
end_machine_docker() { [ -f "$machine_state/dockerd.pid" ] && end "$(cat "$machine_state/dockerd.pid")"; rm -f "$machine_state/dockerd.pid"; }

case $(uname -m) in
  x86_64 | amd64) arch=amd64 sam_arch=x86_64 ;;
  *) arch=arm64 sam_arch=arm64 ;;
esac
