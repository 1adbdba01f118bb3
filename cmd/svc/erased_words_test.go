package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/domain/privacy"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
)

// spoken are the commands that take words about a rider or driver, in the order of a
// life. Every other flag with a text gets a text of its own, so a new flag is covered by
// itself. An argument in braces stands for what an earlier command has made.
var spoken = []struct{ command, args string }{
	{"rider add", "metro {rider}"}, {"rider edit", "metro {rider}"},
	{"driver add", "metro {driver}"}, {"driver edit", "metro {driver}"},
	{"customers update", "metro {rider}"}, {"drivers update", "metro {driver}"},
	{"documents create", "metro {driver} --kind OTHER --number-last4 ULU7 --idempotency-key one"},
	{"documents update", "metro {driver} {document} --state APPROVED"},
	{"postings post", "metro --type TOP_UP --amount 1 --driver-id {driver} --idempotency-key two"},
	{"postings post", "metro --type PAYOUT --amount 1 --driver-id {driver}"},
	{"payment add", "metro {rider} --last4 8251 --exp 04/2031"}, {"payment set", "metro {rider} {payment}"},
	{"trip book", "metro --rider {rider} --name Known --at 40.71,-74.01 --to 40.72,-74.02"},
	{"trip cancel", "metro {trip} --idempotency-key three"},
	{"trip book", "metro --rider {rider} --name Known --at 40.71,-74.01 --to 40.72,-74.02"},
	{"trips update", "metro {trip}"}, {"trip hand-over", "metro {trip} --driver {driver}"}, {"trip unassign", "metro {trip}"},
	{"trip hand-over", "metro {trip} --driver {driver}"}, {"trip move", "metro {trip} DRIVER_ARRIVED"},
	{"trip move", "metro {trip} IN_PROGRESS"}, {"trip complete", "metro {trip} --fare 15"},
	{"trip fare", "metro {trip} 12"},
	{"wallet post", "metro {driver} TOP_UP 1"}, {"wallet post", "metro {driver} PAYOUT 1"},
	{"wallet post", "metro {rider} TOP_UP 1 --side rider"},
	{"wallet post", "metro {rider} PAYOUT 1 --side rider"},
}

// wordsOfNobody has the commands whose texts tell of no rider or driver, and why.
var wordsOfNobody = map[string]string{
	"businesses create": ofBusiness, "businesses update": ofBusiness, "menu create": ofBusiness,
	"menu update": ofBusiness, "services create": ofCompany, "services update": ofCompany, "tenant create": ofCompany,
	"tenant set": ofCompany, "tenant settings": ofCompany, "tenant brand": ofCompany, "zones create": ofCompany,
	"zones update": ofCompany, "webhooks create": ofCompany, "webhooks update": ofCompany, "webhooks replay": onlyAsks,
	"webhooks test": onlyAsks, "branding update": ofCompany, "settings update": ofCompany, "init": ofCompany,
	"feedback submit": "an operator", "feedback comment": "an operator", "seed": "invented people",
	"members add": "an operator", "members grant": "an operator", "members invite": "an operator",
	"members update": "an operator", "client trust": ofCompany, "feedback list": onlyAsks,
	"events": onlyAsks, "export": onlyAsks, "listen": onlyAsks, "import undo": onlyAsks,
	"statement": onlyAsks, "token get": onlyAsks, "token revoke": onlyAsks, "person link": onlyAsks,
	"privacy erase": onlyAsks, "privacy export": onlyAsks, "privacy list": onlyAsks, "privacy run": onlyAsks,
	"privacy show": onlyAsks, "dlq drop": onlyAsks, "dlq list": onlyAsks, "dlq replay": onlyAsks,
	"dev":                "the process",
	"import":             "a file; pkg/background/erasure TestNothingIsLeftOfALife imports one of each kind",
	"orders add":         "the business that cooks, and what it cooks",
	"orders update":      "an order, which no command places for the person; the API's own tests erase one",
	"withdrawals refuse": "a withdrawal, which only the driver can ask for; the API's own tests refuse one",
}

const (
	ofBusiness, ofCompany = "a business", "the company"
	onlyAsks              = "only which data is read, sent or ended"
)

// everyCommandIsSpoken: each command that takes a text is in spoken, or wordsOfNobody says
// why not. So a new command must get into a life, and a new flag is in it by itself.
func everyCommandIsSpoken(t *testing.T) {
	t.Helper()
	lived, words := map[string]bool{}, map[string]bool{}
	for _, one := range spoken {
		cmd, _, err := newCLI(nil, nil).Root().Find(strings.Fields(one.command))
		testkit.Must(t, err)
		lived[strings.TrimPrefix(cmd.CommandPath(), "svc ")] = true
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "svc ")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if takesText(cmd, f) {
				words[name] = true
			}
		})
		// Of an argument in capitals people write only names as they like.
		if cmd.Annotations[cli.OperationID] == "" && strings.Contains(cmd.Use, "NAME") ||
			strings.Contains(cmd.Use, "=VALUE") {
			words[name] = true
		}
		if words[name] && !lived[name] && wordsOfNobody[name] == "" {
			t.Errorf("svc %s takes texts: put it into spoken, or say in wordsOfNobody of whom they tell", name)
		}
	}
	walk(newCLI(io.Discard, io.Discard).Root())
	for name := range wordsOfNobody {
		if !words[name] || lived[name] {
			t.Errorf("svc %s is in wordsOfNobody, and takes no text or is in spoken", name)
		}
	}
}

// unspoken are flags with a text that is no word of people.
const unspoken = " password rating status services lat lng email json at to rider driver service payment scheduled " +
	"side trip fare distance duration exp last4 data phone idempotency-key expires-on number-last4 driver-id " +
	"customer-id trip-id "

// takesText reports whether people write into a flag as they like. A generated command that
// reads stores nothing.
func takesText(cmd *cobra.Command, f *pflag.Flag) bool {
	id, kind := cmd.Annotations[cli.OperationID], f.Value.Type()
	return !f.Hidden && !strings.Contains(unspoken, " "+f.Name+" ") &&
		(id == "" && strings.HasPrefix(kind, "string") || id != "" && cmd.Annotations[cli.ReadsOnly] == "" && kind == "text")
}

// say returns the flags of a command with a text of its own each, and the texts.
func say(cmd *cobra.Command, args string, n *int) (flags, texts []string) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !takesText(cmd, f) || strings.HasPrefix(f.Value.Type(), "stringS") || strings.Contains(args, "--"+f.Name) {
			return
		}
		*n++
		text := fmt.Sprintf("wyvern%03dq", *n)
		if texts = append(texts, text); strings.HasPrefix(f.Name, "photo") {
			text = "https://" + text + ".example/p.png"
		}
		flags = append(flags, "--"+f.Name, text)
	})
	return flags, texts
}

// holds reports whether items hold a text. One of four characters must be a whole value,
// because hashes and identifiers have any four somewhere.
func holds(items, text string) bool {
	if len(text) > 4 {
		return strings.Contains(items, text)
	}
	return strings.Contains(items, `"`+text+`"`) || strings.Contains(items, `"`+text+`\"`)
}

// TestErasedWordsOfCommands: what operators of the platform wrote with svc about a rider
// and a driver is in no item after their erasure.
func TestErasedWordsOfCommands(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w, n := start(t), 0
	everyCommandIsSpoken(t)
	made := strings.NewReplacer("{rider}", "basilisk7@metro.example", "{driver}", "gorgon7@metro.example")
	texts, ids := []string{"basilisk7", "gorgon7", "8251", "ULU7"}, map[string]string{}
	for _, one := range spoken {
		cmd, _, err := newCLI(io.Discard, io.Discard).Root().Find(strings.Fields(one.command))
		testkit.Must(t, err)
		flags, said := say(cmd, one.args, &n)
		texts = append(texts, said...)
		args := strings.Fields(made.Replace(one.args))
		for i, arg := range args {
			args[i] = cmp.Or(ids[arg], arg)
		}
		out := w.ok(append(append(append(strings.Fields(one.command), args...), flags...), "--json")...)
		if name := map[string]string{"trip book": "{trip}", "payment add": "{payment}",
			"documents create": "{document}"}[one.command]; name != "" {
			var new struct{ ID string }
			testkit.Must(t, json.Unmarshal([]byte(out), &new))
			ids[name] = new.ID
		}
	}
	found := func() string {
		running, err := folder.Find(t.Context(), w.data)
		testkit.Must(t, err)
		client, _ := schema.Clients(running.Endpoint)
		all := strings.Builder{}
		pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &running.Table})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			testkit.Must(t, err)
			for _, it := range page.Items {
				text, err := json.Marshal(it)
				testkit.Must(t, err)
				all.Write(append(text, '\n'))
			}
		}
		return all.String()
	}
	before := found()
	for _, text := range texts {
		if !holds(before, text) {
			t.Errorf("%s was never stored", text)
		}
	}
	for member, person := range map[string]string{"--customer": "{rider}", "--driver": "{driver}"} {
		r := w.request("erase", member, made.Replace(person))
		w.became(r.ID, privacy.Ready)
		w.request("run", r.ID, "--yes")
		w.became(r.ID, privacy.Done)
	}
	for line := range strings.Lines(found()) {
		for _, text := range texts {
			if holds(line, text) {
				t.Errorf("after the erasure %s is in %s", text, line)
			}
		}
	}
}
