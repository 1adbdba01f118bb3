#!/usr/bin/env bash
# Deploys the stack to LocalStack, loads the demo through svc and runs the end-to-end suite. What was started is stopped
# again, unless KEEP=1; a LocalStack that runs already is used and left running.
source "$(dirname "$0")/common.sh"
endpoint=${LOCALSTACK_ENDPOINT:-http://localhost:4566}
up() { curl -sf "$endpoint/_localstack/health" >/dev/null; }

end_localstack() {
  if [ -n "$on_machine" ]; then
    local pid
    pid=$(cat "$machine_state/localstack.pid" 2>/dev/null || true)
    "$machine/localstack-up" stop
    [ -z "$pid" ] || end "$pid"
    docker ps -q --filter ancestor=localhost:5000/provided:al2023 | xargs -r docker rm -f >/dev/null
  else
    docker compose -f localstack/compose.yaml down --volumes --remove-orphans
  fi
}

if ! up; then
  need_docker
  [ -n "${KEEP:-}" ] || at_end end_localstack
  if [ -n "$on_machine" ]; then
    "$machine/localstack-up"
  else
    docker compose -f localstack/compose.yaml up --detach --wait
  fi
fi

go build -o "$work/localstack" ./localstack
go build -o "$work/svc" ./cmd/svc
go test -c -o "$work/e2e.test" ./pkg/app/e2e
"$work/localstack" -endpoint "$endpoint" -arch "$arch" deploy >"$work/env"
set -a; source "$work/env"; set +a
"$work/svc" demo
(cd pkg/app/e2e && SVC_PATIENCE=${SVC_PATIENCE:-240s} "../../../$work/e2e.test" -test.v -test.run TestEndToEnd)
[ -z "${KEEP:-}" ] || echo "LocalStack goes on running; what svc needs is in $work/env"
