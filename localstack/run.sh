#!/usr/bin/env bash
# Deploys the stack to LocalStack, loads the demo with svc, and runs the end-to-end suite and the
# tests that need KMS or S3. It stops what it started, unless KEEP=1. If a LocalStack already
# runs, the script uses it and leaves it running.
source "$(dirname "$0")/common.sh"
endpoint=${LOCALSTACK_ENDPOINT:-http://localhost:4566}
up() { curl -sf --max-time 60 "$endpoint/_localstack/health" >/dev/null; }
compose() { docker compose -f localstack/compose.yaml "$@"; }

# Functions send webhooks to public addresses only, over TLS. So they run in a network whose addresses count as public,
# but are used by nobody on the Internet. There the name hooks.example.com is a container that passes connections to the
# end-to-end suite on this machine, and the functions' containers trust the suite's certificate. The functions and their
# configuration are unchanged. A LocalStack that already runs must use this network, as one does that KEEP=1 has left.
network=svc-hooks
certificate=$PWD/$work/receiver.pem
export LAMBDA_DOCKER_NETWORK=$network LAMBDA_DOCKER_FLAGS="-v $certificate:/etc/ssl/certs/receiver.pem:ro"

start_network() {
  docker network inspect $network >/dev/null 2>&1 ||
    docker network create --subnet 30.0.0.0/24 --gateway 30.0.0.1 $network >/dev/null
}
end_network() { docker network rm $network >/dev/null 2>&1 || true; }
start_relay() {
  local listen=127.0.0.1 to=host.docker.internal port
  [ "$(uname)" != Linux ] || listen=30.0.0.1 to=30.0.0.1
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -o "$work/relay" ./localstack
  end_relay
  docker run --detach --name $network --network $network --network-alias hooks.example.com \
    --volume "$PWD/$work/relay:/relay:ro" --entrypoint /relay \
    public.ecr.aws/lambda/provided:al2023 forward :443 $to:$port >/dev/null
  export SVC_RECEIVER=$listen:$port
}
end_relay() { docker rm --force $network >/dev/null 2>&1 || true; }

# S3 checks the signature and the end of signed addresses only if LocalStack is told to.
export S3_SKIP_SIGNATURE_VALIDATION=0

# A function's container may start slowly on a busy machine.
export LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT=120

# LocalStack reads one batch of a stream, of all records, and waits before the next: by default a second. The demo
# writes thousands of records, so functions with small batches would be minutes late. Its streams would also be written
# to disk as a whole every five seconds.
export LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.3 LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC=1
export KINESIS_PERSISTENCE=0

start_localstack() {
  if [ -z "$on_machine" ]; then
    compose up --detach --wait && return 0
    compose logs --tail 60 >&2
    return 1
  fi
  "$machine/localstack-up" && return 0
  while_alive=$(cat "$machine_state/localstack.pid" 2>/dev/null) until_up 900 up && return 0 # it may need longer than localstack-up waits
  stop_localstack
  return 1
}

stop_localstack() {
  if [ -z "$on_machine" ]; then
    compose down --volumes --remove-orphans
  else
    local pid
    forget "$machine_state/localstack.pid" localstack
    forget "$machine_state/registry.pid" docker-registry
    pid=$(cat "$machine_state/localstack.pid" 2>/dev/null) || pid=
    if [ -n "$pid" ]; then
      end "$pid"
      kill -9 -- "-$pid" 2>/dev/null # its process group, which includes its DynamoDB
    fi
    "$machine/localstack-up" stop
    timeout 60 docker ps --quiet --filter ancestor=localhost:5000/provided:al2023 | timeout 60 xargs -r docker rm --force >/dev/null
  fi
  rm -f "$work/localstack.pid"
}

end_left deploy 'localstack -endpoint'
end_left e2e e2e.test
go build -o "$work/localstack" ./localstack
"$work/localstack" certificate >"$certificate"
pid=
if left localstack; then
  need_docker
  stop_localstack
fi
if ! up; then
  need_docker
  [ -n "${KEEP:-}" ] || at_end end_network
  start_network
  started localstack
  [ -n "${KEEP:-}" ] || at_end stop_localstack
  [ -z "$on_machine" ] || stop_localstack
  started localstack
  retry start_localstack
fi

docker network inspect $network >/dev/null 2>&1 ||
  { echo "a LocalStack runs without the network $network: stop it, so that this script starts its own" >&2; exit 1; }
at_end end_relay
start_relay
go build -o "$work/svc" ./cmd/svc
go test -c -o "$work/e2e.test" ./internal/test/e2e
go test -c -tags localstack -o "$work/app.test" ./pkg/app
rm -f "$work/env"
noted deploy "$work/localstack" -endpoint "$endpoint" -arch "$arch" deploy >"$work/env"
set -a
source "$work/env"
set +a
(cd pkg/app && "../../$work/app.test" -test.v -test.run 'TestKMS|TestFilesInS3')
"$work/svc" demo
export SVC_FEW_TOOLS=1 SVC_PATIENCE=${SVC_PATIENCE:-600s} SVC_DIAL=${endpoint#http://}
end_to_end
localstack/walk.sh
SVC=$work/svc localstack/alarms.sh
[ -z "${KEEP:-}" ] || echo "LocalStack keeps running; the variables that svc needs are in $work/env"
