package feed_test

import (
	"log/slog"
	"os"
	"testing"
)

// TestMain discards the log, because the tests cause hundreds of failures.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
