#!/usr/bin/env bash
# Tries runbooks of docs/operations/alarms.md on LocalStack. Dead letters: a record that settlement cannot process
# becomes an object in S3 and a message, and svc lists and replays it. Then the script runs the runbooks of keys and
# wrong sums, and steps 2, 5 and 6 of ops/restore. The environment names LocalStack, the table and the queues.
# docs/operations/walked.md says what LocalStack cannot show.
set -euo pipefail
cd "$(dirname "$0")/.."
svc=${SVC:-.cache/localstack/svc}
export AWS_DEFAULT_REGION=$AWS_REGION AWS_PAGER=
step() { echo "== $*" >&2; }
physical() {
  aws cloudformation describe-stack-resource --stack-name svc --logical-resource-id "$1" \
    --query StackResourceDetail.PhysicalResourceId --output text
}
until_true() { # SECONDS COMMAND…
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || { echo "not within the time: $*" >&2; return 1; }
    sleep 2
  done
}
objects() { aws s3api list-objects-v2 --bucket "$bucket" --query 'length(Contents || `[]`)' --output text; }
listed() {
  local letters
  letters=$("$svc" dlq list settlement --json) || return 1
  jq -c '.[]' <<<"$letters" >&2
  jq -e 'length > 0' >/dev/null <<<"$letters"
}
emptied() { "$svc" dlq replay settlement && [ "$(objects)" = 0 ]; }
keys() { "$svc" keys list --json | jq -c '[.[] | select(.state != "revoked") | .kid]'; }
# The stream functions may still process changes of the tests that ran before.
sums() { "$svc" rebuild --yes && "$svc" verify; }

bucket=$(physical LostRecords)
step "dead letters: settlement gives up at once, because no retry can process the record"
key='{"pk": {"S": "T#ten_walk#TRIP#trp_walk"}, "sk": {"S": "TRIP"}}'
aws dynamodb put-item --table-name "$TABLE_NAME" \
  --item "$(jq -c '. + {type: {S: "trip"}, status: {S: "COMPLETED"}}' <<<"$key")"
until_true 900 listed
[ "$(objects)" -gt 0 ]

step "fix the cause: delete the item; a replay then removes the letter and its object"
aws dynamodb delete-item --table-name "$TABLE_NAME" --key "$key"
until_true 300 emptied # a letter that was listed cannot be received for half a minute

step "keys"
"$svc" keys rotate
"$svc" keys list

step "ops/restore, steps 2, 5 and 6, on the existing table"
aws dynamodb update-time-to-live --table-name "$TABLE_NAME" \
  --time-to-live-specification Enabled=true,AttributeName=expiresAt >/dev/null 2>&1 || true # fails if TTL is already enabled
aws dynamodb update-continuous-backups --table-name "$TABLE_NAME" \
  --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true >/dev/null
old=$(keys)
"$svc" restore finish --yes
jq -en --argjson old "$old" --argjson new "$(keys)" '($new | length > 0) and ($old - $new == $old)' >/dev/null ||
  { echo "svc restore finish kept an old signing key, or made no new one" >&2; exit 1; }
until_true 600 sums
echo "tried the runbooks of dead letters, keys and wrong sums, and the end of ops/restore"
