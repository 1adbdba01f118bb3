package settlement_test

import (
	"log/slog"
	"os"
	"testing"
)

// The failures that the tests cause are logged by the hundred.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
