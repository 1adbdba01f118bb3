// Command localstack deploys the service to LocalStack, whose community
// edition has REST APIs but no HTTP APIs and no SAM deployments: it derives a
// template of plain CloudFormation with a REST API from the one template.yaml,
// builds and uploads the functions, makes the stack and says where it is. It
// speaks to LocalStack and to nothing else.
package main
