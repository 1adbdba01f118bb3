package imports_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
)

// printedMap returns the --map options of the command behind a heading of the page that
// explains other systems' files, so that the page is what is tested.
func printedMap(t *testing.T, heading string) (o imports.Options) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/imports.md")
	testkit.Must(t, err)
	_, rest, ok := strings.Cut(string(page), "\n## "+heading+"\n")
	_, rest, began := strings.Cut(rest, "```sh\n")
	command, _, ended := strings.Cut(rest, "```")
	if !ok || !began || !ended {
		t.Fatalf("docs/imports.md has no command behind %q", heading)
	}
	words := strings.FieldsFunc(strings.ReplaceAll(command, "\\\n", " "), func(r rune) bool {
		return r == ' ' ||
			r == '\n'
	})
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		if strings.HasPrefix(value, "'") {
			n := slices.IndexFunc(words[i+1:], func(w string) bool { return strings.HasSuffix(w, "'") })
			value = strings.Trim(strings.Join(words[i+1:i+2+n], " "), "'")
		}
		switch words[i] {
		case "--kind":
			o.Kind = value
		case "--key":
			o.Key = value
		case "--dates":
			o.Dates = value
		case "--map":
			o.Map = append(o.Map, value)
		}
	}
	return o
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	testkit.Must(t, err)
	return file
}

// TestFilesOfOtherSystems: files in the published layouts of other systems are imported as
// they are, with the options that docs/imports.md prints. Twice is the same as once.
func TestFilesOfOtherSystems(t *testing.T) {
	t.Parallel()
	db := testkit.Table(t)
	for _, tt := range []struct{ heading, file, zone, currency, want string }{
		{"NYC TLC trip records", "tlc_yellow_2024.csv", "America/New_York", "USD", "4/0/0/1"},
		{"NYC TLC trip records, until June 2016", "tlc_yellow_2016.csv", "America/New_York", "USD", "3/0/0/0"},
		{"NYC TLC trip records", "tlc_open_data.csv", "America/New_York", "USD", "2/0/0/0"},
		{"Uber's trip export", "uber_trips_data.csv", "Europe/Paris", "EUR", "4/0/0/1"},
		{"Shopify's customers", "shopify_customers.csv", "Europe/Berlin", "EUR", "4/0/0/1"},
		{"Addresses of Shopify's customers", "shopify_customers.csv", "Europe/Berlin", "EUR", "3/0/0/2"},
	} {
		t.Run(tt.heading+" "+tt.file, func(t *testing.T) {
			c := newCompany(t, db, "DE", tt.currency, tt.zone)
			c.rider(t, "street@metro.example")
			if strings.HasPrefix(tt.heading, "Addresses") {
				c.imports(t, printedMap(t, "Shopify's customers"), sample(t, tt.file))
			}
			o := printedMap(t, tt.heading)
			if tt.file == "tlc_open_data.csv" {
				o.Dates = "mdy"
			}
			rec, faults := c.imports(t, o, sample(t, tt.file))
			if tally(rec) != tt.want {
				t.Fatalf("%s, want %s: %v %+v", tally(rec), tt.want, faults, o)
			}
			again, _ := c.imports(t, o, sample(t, tt.file))
			if again.Created+again.Updated != 0 || again.Failed != rec.Failed {
				t.Errorf("again: %s", tally(again))
			}
			c.checkSample(t, tt.file, o.Kind)
		})
	}
}

// checkSample checks one row of each sample.
func (c company) checkSample(t *testing.T, file, kind string) {
	t.Helper()
	got, want := "", ""
	switch reference := map[string]string{"tlc_yellow_2024.csv": "2 2024-01-01 00:57:55 186 79 17.7",
		"tlc_yellow_2016.csv": "2 2016-06-09 21:06:36 -73.983360290527344 7.3",
		"tlc_open_data.csv":   "2 02/14/2017 04:08:11 PM 237 163 11.3",
		"uber_trips_data.csv": "uber 2026-03-02 22:31:00 +0000 UTC"}[file]; kind {
	case "customers":
		got = c.person(t, "anna@example.com")
		want = "Anna|Schmidt|Anna Schmidt|+49301234567|6405512345678"
	case "addresses":
		r, err := customer.Store.Find(t.Context(), c.Tenant, "anna@example.com")
		testkit.Must(t, err)
		it, err := c.Get(t.Context(), address.Key(c.Tenant, r.ID, "52.52", "13.405"))
		testkit.Must(t, err)
		one, err := address.Kind.FromItem(it)
		testkit.Must(t, err)
		got, want = one.Address, "Hauptstr. 5, 2. Stock, 10115 Berlin"
	default:
		tr := c.ride(t, reference)
		got = strings.Join([]string{string(tr.Status), tr.RequestedAt, tr.PaymentType, fareOf(tr), tr.OriginAddress,
			string(tr.OriginLat)}, "|")
		want = map[string]string{
			"tlc_yellow_2024.csv": "COMPLETED|2024-01-01T05:57:55.000Z|CARD|17.7|Taxi zone 186|40.7128",
			"tlc_yellow_2016.csv": "COMPLETED|2016-06-10T01:06:36.000Z|CASH|7.3|40.760936737060547 " +
				"-73.983360290527344|40.760936737",
			"tlc_open_data.csv":   "COMPLETED|2017-02-14T21:08:11.000Z|CASH|11.3|Taxi zone 237|40.7128",
			"uber_trips_data.csv": "COMPLETED|2026-03-02T22:31:00.000Z|CARD|31.2|1 rue du Bureau, Paris|48.8566"}[file]
	}
	if got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
}
