#!/usr/bin/env bash
# Walks docs/operations/first-deployment.md on LocalStack: runs its commands as printed, in one shell. The environment
# names LocalStack. Two things differ from AWS: the stack is there already, because LocalStack's community edition has
# no HTTP APIs (blocks marked "sh deploy" are left out: sam, and what waits for DNS), and its name is svc.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v aws >/dev/null || { echo 'aws is missing: install the AWS CLI (pip install awscli).' >&2; exit 1; }
page=docs/operations/first-deployment.md
unset TABLE_NAME KEY_ID BASE_URL
export AWS_DEFAULT_REGION=$AWS_REGION AWS_PAGER=
echo "left out on LocalStack: $(grep -c '^```sh deploy$' $page) blocks of sam deploy, and of what waits for DNS"
{
  echo 'set -euo pipefail'
  sed -n '/^```sh$/,/^```$/p' "$page" | grep -v '^```' | sed 's/^stack=.*/stack=svc/'
} | bash -x
echo "walked $page"
