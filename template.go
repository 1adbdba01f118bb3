// Package svc embeds files of the project: the deployment template, the OpenAPI
// document and the guides for integrators. So the local gateway, the local engine and
// the tests read the template from which the service is deployed.
package svc

import "embed"

// Template is template.yaml: the functions, their routes and streams, and the
// table.
//
//go:embed template.yaml
var Template []byte

// OpenAPI is docs/openapi.json: the document of all endpoints, generated for
// https://api.svc.example. It contains the endpoints under /api/v1 that the packages of
// pkg/domain declare (api.Row).
//
//go:embed docs/openapi.json
var OpenAPI []byte

// Guides are the documents for integrators. The service serves them beside the reference
// page.
//
//go:embed docs/tutorial.md docs/oauth.md docs/requests.md docs/errors.md docs/events.md docs/clients.md
//go:embed docs/integrators.md docs/agents.md docs/troubleshooting.md docs/glossary.md
var Guides embed.FS
