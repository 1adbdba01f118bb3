#!/usr/bin/env bash
# Runs the functions in SAM's containers (sam local start-api) against an engine on this machine, and the end-to-end
# suite through them. `svc dev` brings engine, demo and the stream functions. Everything is stopped at the end.
source "$(dirname "$0")/common.sh"
port=${PORT:-3000}

need_docker
if ! command -v sam >/dev/null; then
  [ -x "$machine/sam-up" ] || { echo 'sam is missing; install the AWS SAM CLI (brew install aws-sam-cli).' >&2; exit 1; }
  PATH="$("$machine/sam-up"):$PATH"
fi
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local

go build -o "$work/svc" ./cmd/svc
go build -o "$work/localstack" ./localstack
go test -c -o "$work/e2e.test" ./pkg/app/e2e
rm -rf "$work/data"
"$work/svc" dev --memory --port 0 --data "$work/data" >"$work/dev.log" 2>&1 &
dev=$!
at_end end "$dev"
for _ in $(seq 300); do grep -q '^svc runs at' "$work/dev.log" && break; kill -0 "$dev" || { cat "$work/dev.log" >&2; exit 1; }; sleep 0.2; done
value() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/data/dev.json"; }
engine=$(value endpoint)

# The engine listens on this machine's own address; a container reaches the bridge's.
reached=http://host.docker.internal:${engine##*:}
if [ "$(uname)" = Linux ]; then
  gateway=$(docker network inspect bridge --format '{{(index .IPAM.Config 0).Gateway}}')
  reached=http://$gateway:${engine##*:}
  "$work/localstack" forward "$gateway:${engine##*:}" "${engine#http://}" &
  at_end end $!
fi

# The template with the environment of this machine; sam local sets no variable that the template does not name.
sed -e "s#^\( *\)TABLE_NAME: !Ref Table\$#\1TABLE_NAME: $(value table)\n\1AWS_ENDPOINT_URL_DYNAMODB: $reached\n\1SEALING_KEY_FILE: /var/task/sealing.key#" \
  -e "s#^\( *\)KEY_ID: !GetAtt SealingKey.Arn\$#\1KEY_ID: ''#" \
  -e "s#^\( *\)BASE_URL: .*#\1BASE_URL: http://127.0.0.1:$port#" template.yaml >"$work/template.yaml"
LAMBDA_ARCH=$arch sam build --build-in-source --template-file "$work/template.yaml" --base-dir "$PWD" --build-dir "$work/build" --parameter-overrides "Architecture=$sam_arch" >"$work/build.log" 2>&1 ||
  { tail -30 "$work/build.log" >&2; exit 1; }
cp "$work/data/sealing.key" "$work/build/OAuthFunction/sealing.key"
chmod 600 "$work/build/OAuthFunction/sealing.key"

sam local start-api --warm-containers LAZY --template-file "$work/build/template.yaml" --parameter-overrides "Architecture=$sam_arch" --port "$port" \
  ${on_machine:+--skip-pull-image} >"$work/sam.log" 2>&1 &
sam=$!
at_end end "$sam"
for _ in $(seq 300); do curl -s "http://127.0.0.1:$port/health" >/dev/null && break; kill -0 "$sam" || { tail -30 "$work/sam.log" >&2; exit 1; }; sleep 0.5; done
(cd pkg/app/e2e && SVC_URL=http://127.0.0.1:$port SVC_PATIENCE=${SVC_PATIENCE:-60s} "../../../$work/e2e.test" -test.v -test.run TestEndToEnd) ||
  { tail -40 "$work/sam.log" >&2; exit 1; }
