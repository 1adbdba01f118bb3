// Package config owns the environment variables of the functions and of svc: their
// names, limits, defaults and meanings. A process reads them once, when it starts. No
// other package reads the environment, but for tests.
package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Config is what a process reads from its environment. Variables describes each member.
type Config struct {
	Table, Endpoint, BaseURL    string
	KeyID, SealingKeyFile       string
	MailFrom, FilesBucket       string
	MailConfigurationSet        string
	MailLimits                  MailLimits
	LogLevel                    *slog.Level // nil if absent
	TenantRate, ClientRate      int         // requests a second; 0 means no limit
	EventStreams                int
	KeyedCursors                bool
	RefreshGrace                time.Duration
	OriginSecrets               [][]byte // SHA-256 of each
	SwitchedOff                 []string
	LostRecords                 string
	WebhookQueue, DispatchQueue string
	Versions                    map[string]string // ARN by the function's name in the template
	AWS                         AWS

	Memory                               int64 // megabytes; 0 if unknown
	RuntimeAPI                           string
	Collector, MemoryLimit, ProcessLimit string // the Go runtime reads them itself

	Port                       *int // nil if absent
	LogGroups, StreamFunctions []string
	DeadLetters                map[string]string // URL of the queue by the word of svc dlq
	Profile                    string
	Engine, EnginePath         string
	Browser                    string
	NoColor                    bool

	SignInProfile                string // of svc login
	MachineID, MachineSecret     string // as which svc api signs in
	Display, Wayland, SSHSession string // whether this machine shows a browser to the person

	// Wrong names each variable with a value that it does not accept, what is wrong with
	// it and what is expected; nil if there is none.
	Wrong error
}

// AWS is what the AWS SDK's own loader would read, but for profiles and single sign-on.
type AWS struct {
	Region, DefaultRegion              string
	AccessKey, SecretKey, SessionToken string
	Endpoint                           string            // of every service
	Endpoints                          map[string]string // by service, in capitals
}

// GetServiceBaseEndpoint returns the address of a service. The clients of the AWS SDK
// look for this method in the sources of their configuration.
func (a AWS) GetServiceBaseEndpoint(_ context.Context, service string) (url string, found bool, err error) {
	url = a.Endpoints[strings.ToUpper(service)]
	return url, url != "", nil
}

// Level returns LogLevel, or the level if it is absent.
func (c Config) Level(absent slog.Level) slog.Level {
	if c.LogLevel == nil {
		return absent
	}
	return *c.LogLevel
}

// Read reads the configuration. get returns the value of a variable, "" if it is
// absent.
func Read(get func(name string) string) Config {
	c := Config{Versions: map[string]string{}, DeadLetters: map[string]string{},
		AWS: AWS{Endpoints: map[string]string{}}}
	for _, v := range slices.Concat(Variables, CommandVariables) {
		if text := get(v.Name); text != "" {
			if err := v.read(&c, text); err != nil {
				c.Wrong = errors.Join(c.Wrong, fmt.Errorf("%s %w; expected %s", v.Name, err, v.Accepts))
			}
		}
	}
	return c
}
