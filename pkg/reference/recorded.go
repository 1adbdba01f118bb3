package reference

import (
	_ "embed"
	"encoding/json"
)

//go:embed examples.json
var recorded []byte

// Recorded gives the recorded answers that are the document's examples.
func Recorded() (map[string]json.RawMessage, error) { return Examples(recorded) }
