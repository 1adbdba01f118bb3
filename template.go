// Package svc holds what belongs to the project as a whole, embedded: the deployment template, so
// that the local gateway,
// the local engine and the tests read the very file that is deployed, and the OpenAPI document.
package svc

import _ "embed"

// Template is template.yaml: the functions, their routes and streams, and the table.
//
//go:embed template.yaml
var Template []byte

// OpenAPI is docs/openapi.json: the document of all endpoints, as the rows make it for https://api.svc.example.
//
//go:embed docs/openapi.json
var OpenAPI []byte
