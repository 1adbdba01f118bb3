package dev

import (
	"bytes"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/people"
)

// TestInitAsks: svc init asks for the values that no flag gives, offers
// defaults, and shows no password.
func TestInitAsks(t *testing.T) {
	b, out := firstPeople{name: "Acme Rides", password: "secret-of-rita"}, &bytes.Buffer{}
	answers := "acme\n\n\nana@acme.example\n rita@acme.example \nduarte@acme.example\n"
	if err := b.askForMissing(out, strings.NewReader(answers)); err != nil {
		t.Fatal(err)
	}
	want := firstPeople{tenant: "acme", name: "Acme Rides", currency: "EUR", timezone: "Europe/Lisbon",
		operator: "ana@acme.example", rider: "rita@acme.example", driver: "duarte@acme.example", password: "secret-of-rita"}
	if b != want {
		t.Errorf("got %+v", b)
	}
	if strings.Contains(out.String(), "Name of the company") || !strings.Contains(out.String(), "Currency [EUR]: ") {
		t.Errorf("it asks\n%s", out)
	}
	var lines []string
	for _, args := range b.commands() {
		lines = append(lines, withoutPassword(args))
	}
	all := strings.Join(lines, "\n")
	if strings.Contains(all, b.password) || !strings.Contains(all, "--name 'Acme Rides'") {
		t.Errorf("it shows\n%s", all)
	}
	if err := (&firstPeople{}).askForMissing(out, strings.NewReader("acme\n")); err == nil {
		t.Error("it continues without answers")
	}
}

// TestInitChecksAnswers: an answer that is wrong is asked for again at once.
func TestInitChecksAnswers(t *testing.T) {
	b, out := firstPeople{}, &bytes.Buffer{}
	answers := "B_y\nbay\nBay Rides\nusd\nUSD\nMars/Olympus\n\nnobody\nana@bay.example\nrita@\nrita@bay.example\n" +
		"dan@bay.example\n"
	if err := b.askForMissing(out, strings.NewReader(answers)); err != nil {
		t.Fatal(err)
	}
	if want := (firstPeople{tenant: "bay", name: "Bay Rides", currency: "USD", timezone: "Europe/Lisbon",
		operator: "ana@bay.example", rider: "rita@bay.example", driver: "dan@bay.example"}); b != want {
		t.Errorf("got %+v", b)
	}
	for _, why := range []string{"inner hyphens", "capital letters", "IANA", "mail address\n"} {
		if !strings.Contains(out.String(), why) {
			t.Errorf("it does not say %q: %s", why, out)
		}
	}
	if err := (&firstPeople{}).askForMissing(out, strings.NewReader("B_y\n")); err == nil {
		t.Error("it takes a wrong answer when no other comes")
	}
}

// TestInitIsConfirmedOnce: the commands of svc init name the table in AWS and
// ask for no further confirmation. Nothing listens at the address, so the first
// command fails when it reaches the table. The error lists the commands that are
// left.
func TestInitIsConfirmedOnce(t *testing.T) {
	for name, value := range map[string]string{"TABLE_NAME": "svc-live", "AWS_ENDPOINT_URL_DYNAMODB": "",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "none",
		"AWS_SECRET_ACCESS_KEY": "none"} {
		t.Setenv(name, value)
	}
	var out, errs bytes.Buffer
	c := cli.New("", &out, &errs, people.Add)
	c.Stdin = strings.NewReader("")
	err := runAll(t.Context(), c, c.Root(), [][]string{{"tenant", "create", "acme"}, {"tenant", "create", "bay"}})
	if err == nil || !strings.Contains(errs.String(), "svc tenant create changes the table svc-live in AWS") ||
		strings.Contains(errs.String(), "--yes") || strings.Contains(errs.String(), "$ svc tenant create bay") ||
		!strings.Contains(errs.String(), "\n  svc tenant create acme\n  svc tenant create bay\n") {
		t.Errorf("%v: %s", err, errs.String())
	}
}
