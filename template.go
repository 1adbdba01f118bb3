// Package svc holds what belongs to the project as a whole: the deployment template, embedded, so that the local gateway,
// the local engine and the tests read the very file that is deployed.
package svc

import _ "embed"

// Template is template.yaml: the functions, their routes and streams, and the table.
//
//go:embed template.yaml
var Template []byte
