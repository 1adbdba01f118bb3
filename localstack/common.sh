# What run.sh and sam-local.sh share: Docker, and ending what was started. To be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/lib.sh
work=.cache/localstack
mkdir -p "$work"

# Tools of a machine that has neither Docker nor an image registry; elsewhere they are not there and ordinary Docker does.
machine=../shared/tools/machine
machine_state=${MACHINE_STATE:-/tmp/machine}
on_machine=
[ -x "$machine/docker-up" ] && on_machine=1

# at_end COMMAND… runs when the script ends, the last one first.
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

# failed shows the logs; a script gives its own in `logs`.
logs=()
failed() {
  [ $1 != 130 ] || return 0
  tails ${logs[@]+"${logs[@]}"}
  [ -z "$on_machine" ] || tails "$machine_state"/*.log "$machine_state"/ddb/mvn.log
}

# A script notes the process that it starts, so that the next run ends it should this one be killed. `$work/<name>.pid`
# holds the script's own pid and that of the process.
started() { printf '%s %s\n' $$ "${2:-}" >"$work/$1.pid"; }
end_started() { [ ! -e "$work/$1.pid" ] || { end "$2" && rm -f "$work/$1.pid"; }; }
# left NAME says whether a run that was killed has left something, and sets `pid`.
left() {
  local by
  read -r by pid 2>/dev/null <"$work/$1.pid" && ! alive "$by" localstack/
}
# end_left NAME PATTERN ends what was left.
end_left() {
  local pid=
  left "$1" || return 0
  ! alive "$pid" "$2" || end "$pid"
  rm -f "$work/$1.pid"
}
# noted NAME COMMAND… runs what may take long, so that it ends with the script or with the next run.
noted() {
  local name=$1
  shift
  "$@" &
  started "$name" $!
  at_end end_started "$name" $!
  wait $!
  rm -f "$work/$name.pid"
}
# end_to_end runs the suite on the deployment at SVC_URL.
end_to_end() { noted e2e "$work/e2e.test" -test.v -test.run TestEndToEnd; }

# forget FILE PATTERN removes a pid file whose process has ended or is somebody else's by now.
forget() { [ ! -e "$1" ] || alive "$(cat "$1")" "$2" || rm -f "$1"; }

# ---- Docker. What was not running is ended again, unless KEEP is set.

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
    end_docker # it may run without answering
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

# end_docker ends the machine's Docker with all that runs in it.
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
