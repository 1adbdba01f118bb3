package local

// Clients are the engine's clients, for tests that write items themselves.
var Clients = clients

// KillEngine ends the engine behind the service's back.
func (s *Service) KillEngine() { s.engine.Stop() }
