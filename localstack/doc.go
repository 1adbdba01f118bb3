// Command localstack deploys the service to LocalStack. LocalStack's community
// edition has REST APIs, but no HTTP APIs and no SAM deployments. So the
// command derives a plain CloudFormation template with a REST API from
// template.yaml. It builds and uploads the functions, replaces the stack and
// prints the variables that svc and the tests need. It sends AWS requests only to
// LocalStack.
//
// Other subcommands help the scripts here and ops/restore: import prints the template
// for ops/restore, certificate the certificate of the suite's receiver of webhooks, and
// forward forwards TCP connections between containers and this machine.
package main
