package health

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/signing"
	"svc/pkg/domain/report"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/devpages"
	"svc/pkg/local/poller"
)

// state is what svc status shows. If the account, a lag or a number of dead
// letters cannot be read, its field contains the error.
type state struct {
	Target      string            `json:"target"`
	Address     string            `json:"address"`
	Table       string            `json:"table"`
	Region      string            `json:"region,omitempty"`
	Account     string            `json:"account,omitempty"`
	Identity    string            `json:"identity,omitempty"` // the AWS identity that svc uses
	Tenants     string            `json:"tenants"`
	Reports     string            `json:"reports"` // which tenants' reports count older rides by the time of request
	Keys        []keyAge          `json:"keys"`
	Lag         map[string]string `json:"lag"` // how far each stream function is behind
	DeadLetters map[string]string `json:"deadLetters"`
}

// keyAge is a signing key as svc status shows it.
type keyAge struct {
	KID   string `json:"kid"`
	Alg   string `json:"alg"`
	State string `json:"state"`
	Hours int    `json:"hours"` // hours since the key was published
}

// statusCommand returns the command svc status, which shows the service and its state.
func statusCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show which service the commands reach, and its state",
		Long: "Show which service the commands reach: address, table, and in AWS region, account and identity. Also show\n" +
			"the number of tenants, the age of each signing key, and the lag and the dead letters of each stream\n" +
			"function. In AWS the lag is the metric IteratorAge: to show it, set STREAM_FUNCTIONS to the stack's output\n" +
			"StreamFunctions. To count dead letters in AWS, set SETTLEMENT_DEAD_LETTERS and PROJECTION_DEAD_LETTERS to\n" +
			"the URLs of the queues.",
		Example: "  svc status\n  svc status --json",
		RunE: cli.Act(func(ctx context.Context, _ []string) error {
			p, err := c.Platform(ctx)
			if err != nil {
				return err
			}
			s := state{Target: c.Target().String(), Address: p.BaseURL, Table: p.Table, Lag: lag(ctx, p),
				DeadLetters: map[string]string{}}
			if c.Target().AWS() {
				s.identify(ctx)
			}
			list, err := tenant.Store{DB: p.DB}.List(ctx)
			if err != nil {
				return err
			}
			s.Tenants = fmt.Sprint(len(list))
			if s.Reports, err = reports(ctx, p, list); err != nil {
				return err
			}
			if s.Keys, err = keyAges(ctx, p); err != nil {
				return err
			}
			for word, function := range streamFunctions {
				s.DeadLetters[word] = deadLetters(ctx, p, word, function)
			}
			dead, err := deadTasks(ctx, p, "")
			if s.DeadLetters[dueWord] = fmt.Sprint(len(dead)); err != nil {
				s.DeadLetters[dueWord] = err.Error()
			}
			return showState(c, s)
		})}
}

// identify sets the AWS region, account and identity in s. After an error, the account is
// the text of the error.
func (s *state) identify(ctx context.Context) {
	cfg, err := cli.AWSConfig(ctx)
	if err != nil {
		s.Account = err.Error()
		return
	}
	s.Region = cfg.Region
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	if err != nil {
		s.Account = err.Error()
		return
	}
	s.Account, s.Identity = aws.ToString(who.Account), aws.ToString(who.Arn)
}

// reports returns a text about the reports: whether some tenants still count older rides
// by the time of the request. Builds up to 2026-11 counted them so. Later builds count by
// the time of completion.
func reports(ctx context.Context, p cli.Platform, list []tenant.Tenant) (string, error) {
	var older []string
	for _, n := range list {
		counted, err := report.All(ctx, p.DB.Tenant(n.ID))
		if err != nil {
			return "", err
		}
		if counted.Older {
			older = append(older, n.Slug)
		}
	}
	if len(older) == 0 {
		return "by time of completion", nil
	}
	return "older rides of " + strings.Join(older, ", ") + " count by their request, as an older build counted them; " +
		"svc rebuild counts them by their completion", nil
}

// keyAges returns the signing keys with their ages.
func keyAges(ctx context.Context, p cli.Platform) ([]keyAge, error) {
	found, err := signing.Open(p.DB, signing.Options{Issuer: p.BaseURL}).List(ctx)
	ages := []keyAge{}
	for _, k := range found {
		ages = append(ages, keyAge{k.KID, k.Alg, k.State, int(time.Since(k.PublishedAt).Hours())})
	}
	return ages, err
}

// deadLetters returns the number of dead letters of a stream function as a text, or why
// it is unknown. The number for a queue is approximate and has visible messages only.
func deadLetters(ctx context.Context, p cli.Platform, word, function string) string {
	if p.Data != "" {
		found, err := poller.DeadLetters(p.Data)
		if err != nil {
			return err.Error()
		}
		n := 0
		for _, one := range found {
			if one.Function == function {
				n++
			}
		}
		return fmt.Sprint(n)
	}
	q, ok, err := openQueue(ctx, p.Env.DeadLetters[word])
	if err != nil {
		return err.Error()
	}
	if !ok {
		return "unknown: set " + strings.ToUpper(word) + "_DEAD_LETTERS"
	}
	const count = types.QueueAttributeNameApproximateNumberOfMessages
	out, err := q.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url,
		AttributeNames: []types.QueueAttributeName{count}})
	if err != nil {
		return err.Error()
	}
	return "about " + out.Attributes[string(count)]
}

// lag returns, by the name on the command line, how far each stream function is behind
// the writes, or an error text.
func lag(ctx context.Context, p cli.Platform) map[string]string {
	out := map[string]string{}
	if p.Data == "" {
		for word, function := range streamFunctions {
			out[word] = deployedLag(ctx, p.Env.StreamFunctions, word, function)
		}
		return out
	}
	found, err := localLag(ctx, p)
	for word, function := range streamFunctions {
		if out[word] = found[function].Round(time.Millisecond).String(); err != nil {
			out[word] = err.Error()
		}
	}
	return out
}

// localLag asks the service on this machine for the lag of each stream function, by
// function.
func localLag(ctx context.Context, p cli.Platform) (out map[string]time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Local+devpages.Streams, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("unknown: the service responds %s", res.Status)
	}
	return out, json.NewDecoder(res.Body).Decode(&out)
}

// showState prints what svc status has found.
func showState(c *cli.CLI, s state) error {
	t := cli.Table{}
	t.Add("target", s.Target)
	t.Add("address", s.Address)
	t.Add("table", s.Table)
	if s.Account != "" {
		t.Add("region", s.Region)
		t.Add("account", s.Account)
		t.Add("identity", s.Identity)
	}
	t.Add("tenants", s.Tenants)
	t.Add("reports", s.Reports)
	for _, k := range s.Keys {
		t.Add("key "+k.KID, fmt.Sprintf("%s, %s, %d hours old", k.Alg, k.State, k.Hours))
	}
	for _, word := range []string{"settlement", "projection"} {
		t.Add("lag of "+word, s.Lag[word])
		t.Add("dead letters of "+word, s.DeadLetters[word])
	}
	t.Add("dead letters of "+dueWord, s.DeadLetters[dueWord])
	return c.Show(s, t)
}
