#!/usr/bin/env bash
# Runs the functions in SAM's containers (sam local start-api) against an engine on this machine,
# and runs the end-to-end suite through them. `svc dev` provides the engine, the demo and the
# stream functions. The script stops everything at the end.
source "$(dirname "$0")/common.sh"
command -v sam >/dev/null || { echo 'sam is missing: run `make sam-local`, or install the AWS SAM CLI.' >&2; exit 1; }
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
end_left sam start-api
end_left forward 'localstack forward'
end_left dev 'svc dev'
end_left build 'sam build'
end_left e2e e2e.test
need_docker
# Use a free port: a server left by another run must not respond in place of ours.
port=${PORT:-$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
logs=("$work/build.log" "$work/dev.log" "$work/sam.log")
rm -f "${logs[@]}"

go build -o "$work/svc" ./cmd/svc
go build -o "$work/localstack" ./localstack
go test -c -o "$work/e2e.test" ./internal/test/e2e
rm -rf "$work/data"
"$work/svc" dev --memory --port 0 --data "$work/data" >"$work/dev.log" 2>&1 &
dev=$!
started dev $dev
at_end end_started dev $dev
while_alive=$dev until_up 900 grep -q '^svc runs at' "$work/dev.log"
value() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/data/dev.json"; }
engine=$(value endpoint) # the path of the address is a credential
authority=${engine#http://}
credential=/${authority#*/}
authority=${authority%%/*}
engine_port=${authority##*:}

# The engine listens on this machine's loopback address; a container can reach only the bridge's
# address.
reached=http://host.docker.internal:$engine_port$credential
if [ "$(uname)" = Linux ]; then
  # Docker does not always report the bridge's address. It is the first address of its subnet.
  read -r gateway subnet < <(docker network inspect bridge --format '{{with index .IPAM.Config 0}}{{or .Gateway "-"}} {{.Subnet}}{{end}}')
  [ "$gateway" != - ] || gateway=${subnet%.*}.1
  reached=http://$gateway:$engine_port$credential
  "$work/localstack" forward "$gateway:$engine_port" "$authority" &
  forward=$!
  started forward $forward
  at_end end_started forward $forward
  while_alive=$forward until_up 300 bash -c "exec 3<>/dev/tcp/$gateway/$engine_port"
fi

# The template with this machine's environment. sam local sets only variables that the template
# names. The timeouts are longer, because they include the start of a container.
sed -e "s#^\( *\)TABLE_NAME: !Ref Table\$#\1TABLE_NAME: $(value table)\n\1AWS_ENDPOINT_URL_DYNAMODB: $reached\n\1SEALING_KEY_FILE: /var/task/sealing.key#" \
  -e "s#^\( *\)KEY_ID: !GetAtt SealingKey.Arn\$#\1KEY_ID: ''#" \
  -e "s#^\( *\)Timeout: .*#\1Timeout: 120#" \
  -e "s#^\( *\)BASE_URL: .*#\1BASE_URL: http://127.0.0.1:$port#" template.yaml >"$work/template.yaml"
export LAMBDA_ARCH=$arch
noted build sam build --build-in-source --template-file "$work/template.yaml" --base-dir "$PWD" --build-dir "$work/build" \
  --parameter-overrides "Architecture=$sam_arch" >"$work/build.log" 2>&1
functions=$(sed -n '/^  [A-Z][A-Za-z]*Function:$/s/[ :]//gp' template.yaml)
[ "$(grep -c 'Type: AWS::Serverless::Function' template.yaml)" = "$(wc -w <<<"$functions")" ]
for f in $functions; do
  [ -x "$work/build/$f/bootstrap" ] || { echo "sam build made no $f" >&2; exit 1; }
done
echo "sam build made $(wc -w <<<"$functions") functions"
for f in $functions; do # some seal or open something
  cp "$work/data/sealing.key" "$work/build/$f/sealing.key"
  chmod 600 "$work/build/$f/sealing.key"
done

sam local start-api --warm-containers LAZY --template-file "$work/build/template.yaml" --parameter-overrides "Architecture=$sam_arch" --port "$port" \
  ${on_machine:+--skip-pull-image} >"$work/sam.log" 2>&1 &
sam=$!
started sam $sam
at_end end_started sam $sam
while_alive=$sam until_up 900 curl -s --max-time 120 "http://127.0.0.1:$port/health"
export SVC_URL=http://127.0.0.1:$port SVC_NO_FILES=1 SVC_PATIENCE=${SVC_PATIENCE:-600s}
end_to_end
