package conformance

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"svc/internal/test/apptest"
	"svc/internal/test/devices"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// program is the task of a script that signs in as a machine, by a secret or a key, or as svc on
// a device, by neither.
type program struct {
	Issuer string            `json:"issuer"`
	ID     string            `json:"id"`
	Secret string            `json:"secret"`
	Key    map[string]string `json:"key"`
	Scope  string            `json:"scope"`
	Tenant string            `json:"tenant"`
}

// programs is the service with a machine that has a secret and a key, and an operator.
type programs struct {
	*apptest.Service
	olga    apptest.Actor
	machine apptest.Program
	key     map[string]string
}

func newPrograms(t *testing.T) programs {
	t.Helper()
	p := programs{Service: apptest.New(t)}
	p.olga = p.Operator(t, "metro", "olga")
	boss := p.Token(t, p.olga)
	p.machine = p.Machine(t, boss, "VIEW_TRIPS")
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.Must(t, err)
	raw, err := pair.Bytes()
	testkit.Must(t, err)
	point, err := pair.PublicKey.Bytes()
	testkit.Must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	public := map[string]string{"kty": "EC", "crv": "P-256", "kid": "k1", "x": encode(point[1:33]), "y": encode(point[33:])}
	set, err := json.Marshal(map[string]any{"jwks": map[string]any{"keys": []any{public}}})
	testkit.Must(t, err)
	p.Patch(t, boss, "/api/v1/machines/"+p.machine.ID, string(set)).Must(t, http.StatusOK)
	p.key = map[string]string{"d": encode(raw)}
	for name, value := range public {
		p.key[name] = value
	}
	return p
}

// TestProgramsOfNpm and TestProgramsOfAuthlib: clients that nobody here wrote get tokens without
// a browser of their own.
func TestProgramsOfNpm(t *testing.T) {
	testkit.Long(t)
	newPrograms(t).run(t, []string{"node", "programs.mjs", "openid-client"}, []string{"node", "programs.mjs",
		"oauth4webapi"})
}

func TestProgramsOfAuthlib(t *testing.T) {
	testkit.Long(t)
	newPrograms(t).run(t, []string{"../../../.cache/python/bin/python", "programs.py", "authlib"})
}

func (p programs) run(t *testing.T, clients ...[]string) {
	t.Helper()
	const scope = "tenant.trips:read"
	for _, command := range clients {
		for name, task := range map[string]program{"secret": {ID: p.machine.ClientID, Secret: p.machine.Secret},
			"key": {ID: p.machine.ClientID, Key: p.key}, "device": {ID: "svc"}} {
			t.Run(command[2]+" "+name, func(t *testing.T) {
				task.Issuer, task.Scope, task.Tenant = p.URL, scope, p.olga.Tenant
				got := p.converse(t, command, task)
				device := name == "device"
				if got.Scope != scope || (got.Refresh != "") != device || (got.Expires == 900) == device {
					t.Errorf("%+v", got)
				}
				p.Get(t, got.Access, "/api/v1/trips").Must(t, http.StatusOK)
			})
		}
	}
}

// gained is the result of a script.
type gained struct {
	Scope, Access, Refresh string
	Expires                int
}

// converse runs the script, and allows the access where a device asks for it.
func (p programs) converse(t *testing.T, command []string, task program) gained {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.WaitDelay = 10 * time.Second
	input, err := json.Marshal(task)
	testkit.Must(t, err)
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(append(input, '\n')), &complaints
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var message struct {
			Device *oauth2.DeviceAuthResponse `json:"device"`
			Done   *gained                    `json:"done"`
		}
		testkit.Must(t, json.Unmarshal(lines.Bytes(), &message))
		if message.Done != nil {
			return *message.Done
		}
		testkit.Must(t, p.allow(t, message.Device))
	}
	t.Fatalf("%v ended early:\n%s", command, complaints.String())
	return gained{}
}

func (p programs) allow(t *testing.T, d *oauth2.DeviceAuthResponse) error {
	t.Helper()
	return devices.Allow(t.Context(), flow.Options{BaseURL: p.URL, Tenant: p.olga.Tenant, Email: p.olga.Email,
		Password: apptest.Password}, d.VerificationURIComplete)
}

// TestProgramsInGo: golang.org/x/oauth2 by a secret, and on a device. It polls once before the
// person has answered.
func TestProgramsInGo(t *testing.T) {
	testkit.Long(t)
	p := newPrograms(t)
	provider, err := oidc.NewProvider(t.Context(), p.URL)
	testkit.Must(t, err)
	machine := clientcredentials.Config{ClientID: p.machine.ClientID, ClientSecret: p.machine.Secret,
		TokenURL: provider.Endpoint().TokenURL, Scopes: []string{"tenant.trips:read"}}
	token, err := machine.Token(t.Context())
	testkit.Must(t, err)
	p.Get(t, token.AccessToken, "/api/v1/trips").Must(t, http.StatusOK)

	svc := oauth2.Config{ClientID: "svc", Endpoint: provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID,
		"tenant.trips:read"}}
	device, err := svc.DeviceAuth(t.Context(), oauth2.SetAuthURLParam("tenant_hint", p.olga.Tenant))
	testkit.Must(t, err)
	time.AfterFunc(7*time.Second, func() {
		if err := p.allow(t, device); err != nil {
			t.Error(err)
		}
	})
	token, err = svc.DeviceAccessToken(t.Context(), device)
	testkit.Must(t, err)
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: "svc"}).Verify(t.Context(), raw)
	if err != nil || id.Subject != p.olga.ID || id.VerifyAccessToken(token.AccessToken) != nil {
		t.Errorf("%+v, %v", id, err)
	}
	token.Expiry = time.Now().Add(-time.Minute)
	next, err := svc.TokenSource(t.Context(), token).Token()
	testkit.Must(t, err)
	p.Get(t, next.AccessToken, "/api/v1/trips").Must(t, http.StatusOK)
}
