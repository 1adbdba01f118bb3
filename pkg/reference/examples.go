package reference

import (
	"encoding/json"
	"fmt"
)

// Examples reads recorded answers, by operation id.
func Examples(raw []byte) (map[string]json.RawMessage, error) {
	examples := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return examples, nil
	}
	if err := json.Unmarshal(raw, &examples); err != nil {
		return nil, fmt.Errorf("examples: %w", err)
	}
	return examples, nil
}
