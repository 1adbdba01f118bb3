package apptest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/machine"
)

// Program is a machine with a secret.
type Program struct {
	machine.Machine
	Secret, SecretID string
}

// Machine makes a machine with the permissions, and a secret of it. boss is an operator's
// token whose sign-in is fresh.
func (s *Service) Machine(t testing.TB, boss string, permissions ...string) Program {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": "Nightly", "permissions": permissions})
	testkit.Must(t, err)
	p := Program{Machine: JSON[machine.Machine](t, s.Post(t, boss, "/api/v1/machines", string(body)).Must(t,
		http.StatusCreated))}
	p.SecretID, p.Secret = s.NewSecret(t, boss, p.ID, "{}")
	return p
}

// NewSecret gives the machine a secret.
func (s *Service) NewSecret(t testing.TB, boss, machineID, body string) (id, secret string) {
	t.Helper()
	made := JSON[machine.NewMachineSecret](t, s.Post(t, boss, "/api/v1/machines/"+machineID+"/secrets", body).Must(t,
		http.StatusCreated))
	return made.ID, made.Secret
}

// Form posts a form; pairs are names and values.
func (s *Service) Form(t testing.TB, path string, header map[string]string, pairs ...string) Answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	h := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for name, value := range header {
		h[name] = value
	}
	return s.Do(t, Request{Method: http.MethodPost, Path: path, Body: form.Encode(), Header: h})
}

// Ask asks for a token of a machine by client_secret_basic; pairs are further parameters.
func (s *Service) Ask(t testing.TB, client, secret string, pairs ...string) Answer {
	t.Helper()
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(client)+":"+url.QueryEscape(secret)))
	return s.Form(t, "/oauth/token", map[string]string{"Authorization": basic},
		append([]string{"grant_type", "client_credentials"}, pairs...)...)
}

// Works returns a token of the machine with the scopes, by default all.
func (s *Service) Works(t testing.TB, p Program, scopes ...string) string {
	t.Helper()
	var pairs []string
	if len(scopes) > 0 {
		pairs = []string{"scope", strings.Join(scopes, " ")}
	}
	got := JSON[map[string]any](t, s.Ask(t, p.ClientID, p.Secret, pairs...).Must(t, http.StatusOK))
	return got["access_token"].(string)
}
