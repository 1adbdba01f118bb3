package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// secretSize is the size of a signing secret in bytes.
const secretSize = 32

// newSecret returns the bytes of a new secret.
func newSecret() []byte {
	raw := make([]byte, secretSize)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return raw
}

// SecretText returns a secret as text, the form in which a receiver gets it.
func SecretText(secret []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(secret) }

// ParseSecret returns the bytes of a secret from its text (SecretText).
func ParseSecret(text string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(raw) < 24 || len(raw) > 64 {
		return nil, fmt.Errorf("a secret is whsec_ and the base64 form of 24 to 64 bytes")
	}
	return raw, nil
}

// sealName returns the name under which the key service seals a secret. It binds the
// sealed secret to its tenant and endpoint.
func sealName(t table.Tenant, id string) string { return "webhook/" + t.ID() + "/" + id }

// Open decrypts the secrets with which a message is signed at the time now: the current
// one and, until PreviousUntil, the previous one.
func (r Record) Open(ctx context.Context, s signing.Sealer, t table.Tenant, now time.Time) ([][]byte, error) {
	sealed := [][]byte{r.Secret}
	if until, err := timestamp.Parse(r.PreviousUntil); err == nil && now.Before(until) {
		sealed = append(sealed, r.Previous)
	}
	var out [][]byte
	for _, one := range sealed {
		plain, err := s.Open(ctx, sealName(t, r.ID), one)
		if err != nil {
			return nil, err
		}
		out = append(out, plain)
	}
	return out, nil
}

// Sign sets the headers of a message (Standard Webhooks 1.0, "v1"). The signatures
// cover the id, the time of this attempt and exactly these bytes of the body.
func Sign(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + seconds + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", seconds)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "svc-webhooks/1")
}
