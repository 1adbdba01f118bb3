package config_test

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/pkg/base/config"
)

func read(pairs ...string) config.Config {
	return config.Read(func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	})
}

// Each variable sets a member of its own, and only that.
func TestEachVariable(t *testing.T) {
	absent := read()
	seen := map[string]string{}
	for _, v := range slices.Concat(config.Variables, config.CommandVariables) {
		value := "5"
		for _, other := range []string{"https://a.example", "10s", "WARN", "true", "invitation=5", strings.Repeat("0f", 32)} {
			if read(v.Name, value).Wrong != nil {
				value = other
			}
		}
		c := read(v.Name, value)
		if c.Wrong != nil || reflect.DeepEqual(c, absent) {
			t.Errorf("%s=%s changes nothing: %v", v.Name, value, c.Wrong)
		}
		for name := range seen {
			if reflect.DeepEqual(read(name, seen[name]), c) {
				t.Errorf("%s and %s set the same member", name, v.Name)
			}
		}
		seen[v.Name] = value
		if v.Default == "" || v.Accepts == "" || !strings.HasSuffix(v.Meaning, ".") {
			t.Errorf("%s is not described: %+v", v.Name, v)
		}
	}
	if all := len(config.Variables) + len(config.CommandVariables); len(seen) != all {
		t.Errorf("%d variables have %d names", all, len(seen))
	}
}

// TestRead: limits, and the values between them.
func TestRead(t *testing.T) {
	c := read("TENANT_RATE", "1000000", "CLIENT_RATE", "0", "REFRESH_GRACE", "10s", "BASE_URL", "https://svc.example/",
		"SWITCHED_OFF", "agents, sign-in", "LOG_LEVEL", "warn", "PORT", "0", "AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:1")
	if c.Wrong != nil || c.TenantRate != 1_000_000 || c.ClientRate != 0 || c.RefreshGrace != 10*time.Second ||
		c.BaseURL != "https://svc.example" || !slices.Equal(c.SwitchedOff, []string{"agents", "sign-in"}) ||
		c.Level(slog.LevelInfo) != slog.LevelWarn || c.Port == nil || *c.Port != 0 {
		t.Errorf("%+v", c)
	}
	for service, want := range map[string]string{"sqs": "http://127.0.0.1:1", "SQS": "http://127.0.0.1:1", "S3": ""} {
		got, found, err := c.AWS.GetServiceBaseEndpoint(t.Context(), service)
		if got != want || found != (want != "") || err != nil {
			t.Errorf("%s: %q, %v, %v", service, got, found, err)
		}
	}
	if c := read(); c.Wrong != nil || c.Port != nil || c.Level(slog.LevelInfo) != slog.LevelInfo || c.TenantRate != 0 {
		t.Errorf("absent: %+v", c)
	}
}

// An error names the variable, what is wrong and what is expected, once for each
// variable. It never shows what may be a secret.
func TestWrongValues(t *testing.T) {
	for name, values := range map[string][]string{
		"TENANT_RATE": {"-1", "1000001", "many", "1.5"}, "CLIENT_RATE": {"-1", "1000001", " 5"},
		"REFRESH_GRACE": {"10", "ten", "10 s", "-1s", " 10s"}, "LOG_LEVEL": {"verbose"}, "PORT": {"http", "-1", "65536"},
		"BASE_URL": {"svc.example", "https://", "ftp://svc.example"}, "AWS_ENDPOINT_URL_DYNAMODB": {"127.0.0.1:8000"},
		"AWS_ENDPOINT_URL": {"x"}, "AWS_ENDPOINT_URL_SQS": {"x"}, "SETTLEMENT_DEAD_LETTERS": {"settlement"},
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": {"much", "0"}, "DISPATCH_QUEUE": {"dispatch"},
		"KEYED_CURSORS": {"yes", "1", "TRUE"},
	} {
		for _, value := range values {
			got := read(name, value).Wrong
			if got == nil || !strings.HasPrefix(got.Error(), name+` is "`+value+`"; expected `) {
				t.Errorf("%s=%s: %v", name, value, got)
			}
		}
	}
	for name, values := range map[string][]string{
		"MAIL_LIMITS": {"invitation", "invitation=0", "letter=5", "invitation=-1", "forgot=many"},
	} {
		for _, value := range values {
			c := read(name, value)
			if c.Wrong == nil || !strings.HasPrefix(c.Wrong.Error(), name+` has "`+value+`"; expected `) ||
				c.MailLimits.Of(config.MailInvitation) != config.MailDefaults[config.MailInvitation] {
				t.Errorf("%s=%s: %v", name, value, c.Wrong)
			}
		}
	}
	const secret = "correct-horse"
	got := read("ORIGIN_SECRET_SHA256", secret, "PORT", "x").Wrong
	want := "ORIGIN_SECRET_SHA256 has a word that is no hash; expected SHA-256 hashes of 64 hex digits, separated by " +
		"commas; two while one replaces the other\nPORT is \"x\"; expected a number from 0 to 65535; 0 picks a free port"
	if got == nil || got.Error() != want {
		t.Errorf("got %v", got)
	}
}
