// Package svc embeds two files of the project: the deployment template and the
// OpenAPI document. So the local gateway, the local engine and the tests read
// the template from which the service is deployed.
package svc

import _ "embed"

// Template is template.yaml: the functions, their routes and streams, and the
// table.
//
//go:embed template.yaml
var Template []byte

// OpenAPI is docs/openapi.json: the document of all endpoints, generated for
// https://api.svc.example. The rows define the endpoints under /api/v1.
//
//go:embed docs/openapi.json
var OpenAPI []byte
