package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/edge/api"
)

// Config is what a function reads from its environment, once, when it starts.
// Variables describes each member.
type Config struct {
	Table, Endpoint, BaseURL             string
	KeyID, SealingKeyFile, MailFrom      string
	FilesBucket                          string
	LogLevel                             slog.Level
	Rates                                api.Rates
	RefreshGrace                         time.Duration
	OriginSecrets                        [][]byte // SHA-256 of each
	SwitchedOff                          []string
	LostRecords                          string
	DispatchQueue, WebhookQueue          string
	Memory                               int64 // megabytes
	RuntimeAPI                           string
	Collector, MemoryLimit, ProcessLimit string // the Go runtime reads them itself

	// Wrong names the variables with a value that they do not accept; nil if there
	// is none. A function that serves requests does not start then.
	Wrong error
}

// Variable is an environment variable of the functions.
type Variable struct {
	Name    string
	Default string // what an absent or empty variable means
	Accepts string
	Meaning string
	read    func(c *Config, text string) error
}

// Variables are all environment variables that the functions read, except those
// of the AWS SDK.
var Variables = []Variable{
	{"TABLE_NAME", "none", "the name of a table", "The table of the service.",
		text(func(c *Config) *string { return &c.Table })},
	{"AWS_ENDPOINT_URL_DYNAMODB", "the region's own", "a URL", "The address of DynamoDB.",
		text(func(c *Config) *string { return &c.Endpoint })},
	{"BASE_URL", "the API's own address, from the first event", "a URL without a trailing slash",
		"The public address of the service, which is also the issuer of tokens.",
		text(func(c *Config) *string { return &c.BaseURL })},
	{"KEY_ID", "none", "the ARN or id of a KMS key", "The key that seals the signing keys.",
		text(func(c *Config) *string { return &c.KeyID })},
	{"SEALING_KEY_FILE", "none", "a path", "Without KEY_ID: the file with the key that seals the signing keys.",
		text(func(c *Config) *string { return &c.SealingKeyFile })},
	{"MAIL_FROM", "no mails", "a mail address from which SES may send",
		"The sender of links for a forgotten password or a sign-up.",
		text(func(c *Config) *string { return &c.MailFrom })},
	{"FILES_BUCKET", "none", "the name of an S3 bucket", "The bucket for files, such as exports.",
		text(func(c *Config) *string { return &c.FilesBucket })},
	{"LOG_LEVEL", "INFO", "DEBUG, INFO, WARN or ERROR; any other value means INFO",
		"The least level of the lines in the log.", func(c *Config, text string) error {
			_ = c.LogLevel.UnmarshalText([]byte(text)) // a misspelt level must not stop the service
			return nil
		}},
	{"TENANT_RATE", "no limit", "0 (no limit) to 1000000", "Requests per second of one tenant that one process serves.",
		rate(func(c *Config) *int { return &c.Rates.Tenant })},
	{"CLIENT_RATE", "no limit", "0 (no limit) to 1000000",
		"Requests per second of one client in one tenant that one process serves.",
		rate(func(c *Config) *int { return &c.Rates.Client })},
	{"REFRESH_GRACE", "0s", "a duration of 0s or more, such as 10s; at most 30s are used",
		"How long the previous refresh token may be used again.", func(c *Config, text string) (err error) {
			if c.RefreshGrace, err = time.ParseDuration(text); err != nil || c.RefreshGrace < 0 {
				return fmt.Errorf("is %q; expected a duration of 0s or more, such as 10s", text)
			}
			return nil
		}},
	{"ORIGIN_SECRET_SHA256", "none: every request is served",
		"SHA-256 hashes of 64 hex digits, separated by commas; two while one replaces the other",
		"Only requests with an origin secret that has one of these hashes are served.", readSecrets},
	{"SWITCHED_OFF", "nothing", "operation ids, registration, sign-in, agents; separated by commas or spaces",
		"These operations get a 503. An unknown word is logged as an error.", func(c *Config, text string) error {
			c.SwitchedOff = words(text)
			return nil
		}},
	{"LOST_RECORDS", "none: the stream delivers such records again", "the name of a bucket in S3",
		"Where settlement and projection put records that no retry can process.",
		text(func(c *Config) *string { return &c.LostRecords })},
	{"WEBHOOK_QUEUE", "none: the process sends webhooks itself", "the URL of a queue in SQS",
		"Where projection, the sender of webhooks and its sweep put what is to be sent.",
		text(func(c *Config) *string { return &c.WebhookQueue })},
	{"DISPATCH_QUEUE", "none: the function makes the steps itself", "the URL of a queue in SQS",
		"Where projection and dispatch send messages about trips that need a driver.",
		text(func(c *Config) *string { return &c.DispatchQueue })},
	{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "unknown", "a number of megabytes", "Set by Lambda.",
		func(c *Config, text string) error {
			c.Memory, _ = strconv.ParseInt(text, 10, 64)
			return nil
		}},
	{"AWS_LAMBDA_RUNTIME_API", "none", "a host and port", "Set by Lambda.",
		text(func(c *Config) *string { return &c.RuntimeAPI })},
	{"GOGC", "1000", "as in Go's package runtime", "When garbage is collected.",
		text(func(c *Config) *string { return &c.Collector })},
	{"GOMEMLIMIT", "three quarters of the function's memory", "as in Go's package runtime", "The limit of Go's memory.",
		text(func(c *Config) *string { return &c.MemoryLimit })},
	{"GOMAXPROCS", "1 in a function of at most 1,769 MB", "as in Go's package runtime",
		"How many threads run Go code at a time.", text(func(c *Config) *string { return &c.ProcessLimit })},
}

// ReadConfig reads the configuration. get returns the value of a variable, "" if
// it is absent.
func ReadConfig(get func(name string) string) Config {
	var c Config
	for _, v := range Variables {
		if text := get(v.Name); text != "" {
			if err := v.read(&c, text); err != nil {
				c.Wrong = errors.Join(c.Wrong, fmt.Errorf("%s %w", v.Name, err))
			}
		}
	}
	return c
}

func text(of func(c *Config) *string) func(*Config, string) error {
	return func(c *Config, text string) error {
		*of(c) = text
		return nil
	}
}

func rate(of func(c *Config) *int) func(*Config, string) error {
	return func(c *Config, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1_000_000 {
			return fmt.Errorf("is %q; expected requests per second, 0 (no limit) to 1000000", text)
		}
		*of(c) = n
		return nil
	}
}

func readSecrets(c *Config, text string) error {
	for _, hash := range words(text) {
		sum, err := hex.DecodeString(hash)
		if err != nil || len(sum) != sha256.Size {
			return errors.New("must be SHA-256 hashes of 64 hex digits, separated by commas")
		}
		c.OriginSecrets = append(c.OriginSecrets, sum)
	}
	return nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// WebhookSealer is Sealer for the secrets of webhooks. What it seals can open no
// signing key.
func (c Config) WebhookSealer(ctx context.Context, load Loader) (signing.Sealer, error) {
	if c.KeyID != "" {
		return newKMS(ctx, c.KeyID, "webhook", load)
	}
	return c.Sealer(ctx, load)
}

// Sealer returns a KMS sealer if KEY_ID names a key, else a sealer with the file
// that SEALING_KEY_FILE names. It is an error if neither variable is set.
func (c Config) Sealer(ctx context.Context, load Loader) (signing.Sealer, error) {
	switch {
	case c.KeyID != "":
		return newKMS(ctx, c.KeyID, "kid", load)
	case c.SealingKeyFile != "":
		return signing.FileSealer(c.SealingKeyFile)
	}
	return nil, errors.New("neither KEY_ID nor SEALING_KEY_FILE is set; signing keys need one of them")
}
