package service

import (
	"log/slog"

	"svc/pkg/local/poller"
)

// KillEngine stops the engine. To the service, the engine ends by itself.
func (s *Service) KillEngine() { s.engine.Stop() }

// Consumers returns the template's stream subscriptions over the functions.
func (a App) Consumers(template []byte) ([]poller.Consumer, error) {
	return a.consumers(template, slog.Default())
}
