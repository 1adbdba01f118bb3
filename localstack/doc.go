// Command localstack deploys the service to LocalStack. LocalStack's community
// edition has REST APIs, but no HTTP APIs and no SAM deployments. So the
// command derives a plain CloudFormation template with a REST API from
// template.yaml. It builds and uploads the functions, replaces the stack and
// prints the variables that svc and the tests need. It sends AWS requests only to
// LocalStack.
//
// Two subcommands have other uses: import prints the template for ops/restore, and
// forward forwards TCP connections for sam local.
package main
