package apptest

import (
	"encoding/json"
	"net/http"
	"testing"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

// Ride takes the steps of a ride, by default all, with the tokens of a rider and a
// driver. It returns the trip's id.
func (s *Service) Ride(t testing.TB, rider, driver string, r script.Ride, steps ...string) string {
	t.Helper()
	id, err := r.Take(func(c script.Call) (json.RawMessage, error) {
		request := Request{Method: http.MethodPost, Path: c.Path, Token: driver, Body: c.Body, Header: map[string]string{}}
		status := http.StatusOK
		if c.As == authz.Rider {
			request.Token, status = rider, http.StatusCreated
		}
		if c.Key != "" {
			request.Header["Idempotency-Key"] = c.Key
		}
		return s.Do(t, request).Must(t, status).Body, nil
	}, steps...)
	testkit.Must(t, err)
	return id
}
