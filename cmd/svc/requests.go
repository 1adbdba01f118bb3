package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/app"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/accesslog"
)

// requestLog prints each request that svc dev handles, and stores it in the
// data folder for svc logs.
type requestLog struct {
	cli   *cli
	form  string // text, json or off
	color bool
	file  *accesslog.File
	shown atomic.Bool // svc dev has printed the addresses; add prints no request before that
	slugs sync.Map    // tenant id → slug
	reads sync.WaitGroup
	rt    *app.Runtime

	mu     sync.Mutex // guards the output: one line at a time
	failed sync.Once
}

// Formats of the request log on the terminal.
const (
	logText = "text"
	logJSON = "json"
	logOff  = "off"
)

func newRequestLog(c *cli, o devOptions) (*requestLog, error) {
	form := o.log
	if o.quiet {
		form = logOff
	}
	if form != logText && form != logJSON && form != logOff {
		return nil, usagef("--log is %q; expected text, json or off", o.log)
	}
	return &requestLog{cli: c, form: form, color: isTerminal(c.err) && !c.env.NoColor}, nil
}

// wrap logs the gateway's responses, also to a file in the data folder dir.
func (l *requestLog) wrap(dir string) func(http.Handler) (http.Handler, error) {
	return func(next http.Handler) (_ http.Handler, err error) {
		if l.file, err = accesslog.OpenFile(dir); err != nil {
			return nil, err
		}
		return &accesslog.Handler{Next: next, Log: l.add, Slug: l.slug, Now: time.Now}, nil
	}
}

// add logs a request. It does not print successful health checks, because most
// commands send one to find the service.
func (l *requestLog) add(e accesslog.Entry) {
	if l.file != nil {
		if err := l.file.Add(e); err != nil {
			l.failed.Do(func() { fmt.Fprintf(l.cli.err, "svc: %s; svc logs will not find all requests\n", err) })
		}
	}
	if l.form == logOff || !l.shown.Load() || e.Status == http.StatusOK && strings.HasPrefix(e.Path, "/health") {
		return
	}
	line := e.Text(l.color)
	if l.form == logJSON {
		text, err := json.Marshal(e)
		if err != nil {
			return
		}
		line = string(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.cli.err, line)
}

// slugTime limits how long a line of the log waits for the slug of its tenant.
var slugTime = time.Second

// slug calls then with the tenant's slug, "" if it cannot be read. It caches
// every slug that it has read, and reads another one on a goroutine of its own:
// the table may be silent, and no response waits for its line of the log.
func (l *requestLog) slug(id string, then func(string)) {
	if slug, ok := l.slugs.Load(id); ok {
		then(slug.(string))
		return
	}
	l.reads.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), slugTime)
		defer cancel()
		t, err := tenant.Store{DB: l.rt.DB}.ByID(ctx, id)
		if err == nil {
			l.slugs.Store(id, t.Slug)
		}
		then(t.Slug)
	})
}

func (l *requestLog) close() {
	l.reads.Wait()
	if l.file != nil {
		_ = l.file.Close()
	}
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func logsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs REQUEST_ID",
		Short: "Show a request by its X-Request-Id",
		Long: "Show the log lines of a request. The id is the response's header X-Request-Id, and error\n" +
			"pages show it too. The value of the header Apigw-Requestid also works.\n" +
			"`svc dev` stores its log in the data folder, also with --memory. If\n" +
			"TABLE_NAME is set, the command reads CloudWatch Logs: the log groups in LOG_GROUP. If\n" +
			"the gateway answered 5xx and no function logged the request, the command also shows\n" +
			"the lines about failures that Lambda and Go's runtime wrote at that time. It marks\n" +
			"them `nearby`, because they may be about another request.",
		Example: "  svc logs req_JKJaXmPLvHcESHA=\n  svc logs req_JKJaXmPLvHcESHA= --since 72h",
	}
	since := cmd.Flags().Duration("since", 24*time.Hour, "how far back to look in CloudWatch Logs, `duration`")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if args[0] == "" {
			return usagef("the request id is empty")
		}
		if c.target().table != "" {
			return c.showDeployedLogs(ctx, args[0], *since)
		}
		_, _ = c.find(ctx) // without a running service, the log of an earlier one is in c.data
		found, err := accesslog.Find(c.data, args[0])
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no request with the id %q is in the log of %s", printableID(args[0]), c.data)
		}
		if c.json {
			return c.printJSON(found)
		}
		for _, e := range found {
			if _, err := fmt.Fprintln(c.out, e.Text(false)); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}

func (c *cli) showDeployedLogs(ctx context.Context, id string, since time.Duration) error {
	found, err := deployedLogs(ctx, c.env.LogGroups, id, since)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no line of the last %s has the id %q; give a longer --since", since, printableID(id))
	}
	if c.json {
		return c.printJSON(found)
	}
	for _, line := range found {
		at := line.Time.Format(time.RFC3339)
		if line.Nearby {
			at += " nearby, perhaps of another request:"
		}
		if _, err := fmt.Fprintf(c.out, "%s %s\n", at, printable(string(line.Line))); err != nil {
			return err
		}
	}
	return nil
}

// printableID replaces each character that a request id cannot contain by "?".
func printableID(id string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '"' && r != '\'' && r != '\\' {
			return r
		}
		return '?'
	}, id)
}
