#!/usr/bin/env bash
# Runs the commands of docs/operations/first-deployment.md on LocalStack as printed, in one shell. The environment names
# LocalStack. Two things differ from AWS. The stack exists already, because LocalStack's community edition has no HTTP
# APIs; so the script omits the blocks marked "sh deploy", which run sam or wait for DNS. The stack's name is svc.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v aws >/dev/null || { echo 'aws is missing: install the AWS CLI (pip install awscli).' >&2; exit 1; }
page=docs/operations/first-deployment.md
unset TABLE_NAME KEY_ID BASE_URL
export AWS_DEFAULT_REGION=$AWS_REGION AWS_PAGER=
echo "omitted on LocalStack: $(grep -c '^```sh deploy$' $page) blocks that run sam or wait for DNS"
{
  echo 'set -euo pipefail'
  sed -n '/^```sh$/,/^```$/p' "$page" | grep -v '^```' | sed 's/^stack=.*/stack=svc/'
} | bash -x
echo "ran $page"
