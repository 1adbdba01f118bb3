package main

import (
	"strings"
	"testing"
)

// Names in the rejected commands, and common beginnings of these commands.
const (
	aBusiness = "biz_01JMETR0000000000000000001"
	aService  = "svt_01JMETR0000000000000000001"
	anOrder   = "ord_01JMETR0000000000000000008"
	aCard     = "--brand visa --last4 4242 --exp 04/2031"
	addShop   = "business add metro Shop --category deli --address Quay --lat 1 --lng 1 "
	addAnna   = "driver add metro anna@metro.example --first Anna "
	addOrder  = "order add metro " + aBusiness + " rider1@metro.example --to Quay --item "
)

// Texts that are one character longer than the limits for names and addresses.
var text101, text301 = strings.Repeat("x", 101), strings.Repeat("x", 301)

// refusedCommands are commands that must fail.
var refusedCommands = []struct {
	name string
	args string // words; _ is an empty one, ~ a space within one
	code int
	err  string
}{
	{"tenant: empty slug", "tenant create _", 1, "slug:"},
	{"tenant: long name", "tenant create bay --name " + text101, 1, "name: expected 1 to 100"},
	{"tenant: currency in small letters", "tenant create bay --currency usd", 1, "ISO 4217"},
	{"tenant: no such currency", "tenant create bay --currency QQQ", 1, "ISO 4217"},
	{"tenant: no such time zone", "tenant create bay --timezone Mars/Olympus", 1, "timezone"},
	{"tenant: negative shards", "tenant create bay --shards -1", 1, "shards: expected 1 to 64"},
	{"tenant: shards that are no number", "tenant create bay --shards many", 2,
		"--shards many: expected a whole number"},
	{"tenant: currency after the first trip", "tenant set metro --currency EUR", 1, "trips or orders in its currency"},
	{"tenant: another's slug", "tenant create harbor", 1, "Another tenant has this slug"},
	{"tenant: negative setting", "tenant settings metro dispatch.offerTimeoutSeconds=-1", 2,
		"offerTimeoutSeconds=-1: expected a whole number at least 0"},
	{"tenant: tax above all", "tenant settings metro pricing.taxRate=1.5", 2,
		"taxRate=1.5: expected a number 0 to 1"},
	{"tenant: every fault at once", "tenant create B_y --currency usd --timezone Mars/Olympus --max-fare x", 1,
		"slug: expected 1 to 40 letters from a to z, digits and inner hyphens; "},
	{"tenant: the last fault too", "tenant create B_y --currency usd --timezone Mars/Olympus", 1,
		"timezone: expected a name of the IANA database"},
	{"tenant: every flag at once", "tenant create bay --shards many --curency USD", 2,
		"--shards many: expected a whole number; unknown flag: --curency; did you mean --currency?"},
	{"trip: an argument as a flag", "trip list --tenant metro", 2,
		"unknown flag: --tenant; it is an argument here: svc trips list SLUG"},
	{"tenant: every feature at once", "tenant create bay --flag a=true --flag taxiEnabled=maybe", 2,
		"taxiEnabled and deliveryEnabled; --flag taxiEnabled=maybe: expected"},
	{"service: every fault at once", "service add metro Van --base -1 --capacity 0 --commission 2", 2,
		"--base -1: expected a number at least 0; --capacity 0: expected a whole number 1 to 1000; " +
			"--commission 2: expected a number 0 to 1"},
	{"settings: every fault at once", "tenant settings metro pricing.taxRate=1.5 dispatch.offerTimeoutSeconds=-1", 2,
		"dispatch.offerTimeoutSeconds=-1: expected a whole number at least 0; pricing.taxRate=1.5: expected a number 0 to 1"},
	{"member: no mail address", "member add metro grace", 1, "email: expected a mail address"},
	{"member: there already", "member add metro operator@metro.example --all", 1, "member of this tenant already"},
	{"member: unknown permissions, all at once", "member grant metro operator@metro.example VIEW_TRIP NOTHING", 2,
		"there is no permission VIEW_TRIP; did you mean VIEW_TRIPS?; there is no permission NOTHING"},
	{"trip: booked at no latitude", "trip book metro --phone 2125550199 --from Quay --at 91,0", 1,
		"--at: expected number <= 90"},
	{"trip: booked to no longitude", "trip book metro --phone 2125550199 --from Quay --at 1,0 --to 1,181", 1,
		"--to: expected number <= 180"},
	{"listen: no such port", "listen metro --forward-to http://localhost:99999/", 2, "expected a port from 1 to 65535"},
	{"trip: no reason", "trip cancel metro trp_x", 2, "--reason is missing"},
	{"trip: unknown", "trip cancel metro trp_x --reason lost", 1, `there is no trip "trp_x"`},
	{"trip: no such status", "trip move metro trp_x FLYING", 2, "there is no status FLYING; expected ASSIGNED"},
	{"trip: nobody to assign", "trip move metro trp_x ASSIGNED", 2, "ASSIGNED needs --driver"},
	{"trip: list of no such status", "trip list metro --status LOST", 2, "--status LOST: expected PENDING"},
	{"wallet: no such side", "wallet show metro driver1@metro.example --side house", 2, "expected driver, rider"},
	{"wallet: unknown driver", "wallet show metro nobody@metro.example", 1, "there is no driver"},
	{"tenant: nearly known", "driver list metri", 1, `there is no tenant "metri"; did you mean metro?`},
	{"tenant: swapped letters", "driver list metor", 1, `there is no tenant "metor"; did you mean metro?`},
	{"tenant: nearly known setting", "tenant settings metro payments.csh=true", 2, "did you mean payments.cash?"},
	{"tenant: word for a number", "tenant settings metro pricing.taxRate=high", 2, "expected a number, such as 12.5"},
	{"tenant: no such mode", "tenant settings metro dispatch.mode=opn", 2, "expected manual, open, offers"},
	{"tenant: group for a setting", "tenant settings metro dispatch={}", 2, "there is no setting dispatch"},
	{"wallet: refund of no trip", "wallet post metro rider1@metro.example REFUND 1 --side rider --trip ZZZZZZZZ " +
		"--description Back", 1, "use the id"},
	{"webhook: unknown", "webhook enable metro whk_x", 1, `there is no webhook endpoint "whk_x"`},
	{"command: nearly known", "driver lst metro", 2, `unknown command "lst" for "svc drivers"; did you mean list?`},
	{"token: unknown tenant to sign in to", "token get --tenant nope --email a@b.example --password x", 1,
		`there is no tenant "nope"`},
	{"token: rider of no tenant", "token get --audience rider --email a@b.example --password x", 2, "--tenant is missing"},
	{"token: no password", "token get --tenant metro --email operator@metro.example", 2, "the password is empty"},
	{"driver: no name", "driver add metro anna@metro.example", 1, "--first: expected a first or last name"},
	{"driver: long name", addAnna + "--last " + text101, 1, "--last: expected at most 100"},
	{"driver: long plate", addAnna + "--plate " + text101, 1, "--plate: expected at most 100"},
	{"driver: rating above five", addAnna + "--rating 6", 1, "rating: expected 0 to 5"},
	{"driver: negative rating", addAnna + "--rating -1", 1, "rating: expected 0 to 5"},
	{"driver: latitude of no place", addAnna + "--lat 91 --lng 0", 1, "location: expected a latitude"},
	{"driver: half a location", addAnna + "--lat 1", 1, "location: expected a latitude"},
	{"driver: latitude that is no number", addAnna + "--lat north --lng 0", 1, "location: expected a latitude"},
	{"driver: no such status", addAnna + "--status FLYING", 1, "status: expected OFFLINE"},
	{"driver: picture not by https", addAnna + "--photo http://x.example", 1, "--photo: expected an https URL"},
	{"driver: address taken", "driver add metro driver2@metro.example --first Anna", 1,
		"Another account has this mail address"},
	{"driver: changed to an address taken", "driver edit metro driver1@metro.example --email driver2@metro.example", 1,
		"Another account has this mail address"},
	{"driver: no limit", "driver list metro --limit 0", 2, "--limit 0: expected at least 1"},
	{"driver: unknown tenant", "driver list nowhere", 1, `there is no tenant "nowhere"`},
	{"driver: unknown flag", addAnna + "--wings 2", 2, "unknown flag: --wings"},
	{"driver: nothing to change", "driver edit metro driver1@metro.example", 2, "nothing to change"},
	{"rider: no name", "rider add metro anna@metro.example", 1, "--first: expected a first or last name"},
	{"rider: long name", "rider add metro anna@metro.example --first " + text101, 1, "--first: expected at most 100"},
	{"rider: address taken", "rider add metro rider2@metro.example --first Anna", 1,
		"Another account has this mail address"},
	{"rider: no mail address", "rider edit metro rider1@metro.example --email nobody", 1,
		"email: expected a mail address"},
	{"service: no price", "service add metro Van", 1, "--base-fare: expected one price above 0"},
	{"service: free of charge", "service add metro Van --base 0 --per-km 0.00", 1, "--base: expected one price above 0"},
	{"service: made free of charge", "service set metro " + aService + " --base 0 --per-km 0 --per-minute 0 --minimum 0",
		1, "--base: expected one price above 0"},
	{"service: negative price", "service add metro Van --base -3", 2, "--base -3: expected a number at least 0"},
	{"service: price that is no number", "service add metro Van --per-km cheap", 2,
		"--per-km cheap: expected a number, such as 12.5"},
	{"service: more than all of the fare", "service add metro Van --base 3 --commission 1.1", 2,
		"--commission 1.1: expected a number 0 to 1"},
	{"service: nobody fits", "service add metro Van --base 3 --capacity 0", 2,
		"--capacity 0: expected a whole number 1 to 1000"},
	{"service: empty name", "service add metro _ --base 3", 2, "name: expected a text of 1 to 100"},
	{"service: unknown", "service set metro svt_x --base 3", 1, `there is no service type "svt_x"`},
	{"zone: no numbers", "zone add metro Pier --box a,b,c,d", 2, "west,south,east,north"},
	{"zone: turned around", "zone add metro Pier --box=5,5,1,1", 2, "south below north"},
	{"zone: beyond the globe", "zone add metro Pier --box=-200,0,1,1", 2, "from -180 to 180"},
	{"zone: empty name", "zone add metro _ --box=0,0,1,1", 2, "name: expected a text of 1 to 100"},
	{"zone: no such file", "zone add metro Pier --area /nowhere.geojson", 1, "no such file"},
	{"zone: a folder", "zone add metro Pier --area testdata", 1, "testdata: it is a folder; expected a file"},
	{"zone: no JSON", "zone add metro Pier --area main.go", 2,
		"main.go: expected a JSON object, and the file is not JSON"},
	{"export: ends before it begins", "export trips --tenant metro --from 2026-01-31 --to 2026-01-01", 2,
		"--from: must be before to"},
	{"export: unknown kind", "export cars --tenant metro", 2, "svc: kind: expected"},
	{"statement: no month", "statement metro driver1@metro.example 2026-13", 1, "svc: month: expected a month such as"},
	{"statement: month to come", "statement metro driver1@metro.example 2999-01", 1,
		"svc: month: has not begun in the company's time zone, America/New_York"},
	{"wallet: negative number as a flag", "wallet post metro driver1@metro.example ADJUSTMENT -5 --description Lost", 2,
		`-5 looks like a flag; write a negative number at the end, behind "--": -- -5`},
	{"webhook: no type", "webhook create metro https://a.example --type trip.complete", 1, "svc: --type: "},
	{"export: to a folder", "export trips --tenant metro --out testdata", 1, "testdata: it is a folder; expected a file"},
	{"export: into no folder", "export trips --tenant metro --out no/such.csv", 1, "no: there is no such"},
	{"import: a folder", "import testdata --tenant metro --kind customers", 1, "testdata: it is a folder"},
	{"import: rows into no folder", "import main.go --tenant metro --kind customers --failed no/such.csv", 1,
		"no: there is no such"},
	{"dev: port of no kind", "dev --port high", 2, "--port high: expected a whole number"},
	{"zone: unknown", "zone set metro zon_x --priority 2", 1, `there is no zone "zon_x"`},
	{"business: no category", "business add metro Shop", 2, "--category is missing"},
	{"business: latitude of no place", addShop + "--lat 91", 2, "--lat 91: expected a number -90 to 90"},
	{"business: long address", addShop + "--address " + text301, 2, "expected a text of 1 to 300 characters"},
	{"business: logo not by https", addShop + "--logo x", 1, "--logo: expected an https URL"},
	{"business: neither on nor off", "business set metro " + aBusiness + " --active=perhaps", 2,
		"--active perhaps: expected true or false"},
	{"business: unknown", "business set metro biz_x --active=false", 1, `there is no business "biz_x"`},
	{"order: no such business", "order add metro biz_x rider1@metro.example --to Quay --item 1~Tea~2", 1,
		"business: expected the id"},
	{"order: nothing of it", addOrder + "0~Tea~2", 1, "quantity of 1 to 1,000"},
	{"order: negative price", addOrder + "1~Tea~-2", 1, "not negative"},
	{"order: half a cent", addOrder + "1~Tea~2.555", 1, "at most 2 decimals (USD)"},
	{"order: negative fee", addOrder + "1~Tea~2 --fee -1", 1, "--fee: expected a number that is not negative"},
	{"order: nowhere to go", addOrder + "1~Tea~2 --to _", 1, "deliveryAddress: expected 1 to 300"},
	{"order: no such status", "order set metro " + anOrder + " FLYING", 2, "there is no status FLYING; expected PENDING"},
	{"order: unknown driver", "order set metro " + anOrder + " --driver nobody@metro.example", 1, "there is no driver"},
	{"payment: whole card number", "payment add metro rider1@metro.example " + aCard + " --last4 4242424242424242", 1,
		"last4: expected the last four digits"},
	{"payment: no such month", "payment add metro rider1@metro.example " + aCard + " --exp 13/2031", 1,
		"exp: expected a month and a year"},
	{"payment: empty brand", "payment add metro rider1@metro.example " + aCard + " --brand _", 1,
		"brand: expected 1 to 100"},
	{"payment: unknown", "payment set metro rider1@metro.example pay_x --default", 1,
		`there is no payment method "pay_x"`},
	{"audit: unknown tenant", "audit nowhere", 1, `there is no tenant "nowhere"`},
	{"token: unknown tenant", "token list nowhere", 1, `there is no tenant "nowhere"`},
	{"feedback: no such type", "feedback list --type WISH", 2, "expected IDEA, BUG"},
	{"feedback: no such status", "feedback list --status OPEN", 2, "expected ALL, UNDER_REVIEW"},
	{"feedback: no such order", "feedback list --sort best", 2, "expected votes, newest, comments"},
	{"feedback: too many", "feedback list --limit 1001", 2, "expected 1 to 1000"},
	{"feedback: put into no such status", "feedback status let-a-business-pause-its-orders DONE", 1,
		"status: expected UNDER_REVIEW"},
	{"rebuild: unknown tenant", "rebuild nowhere", 1, `there is no tenant "nowhere"`},
	{"seed: no trips", "seed --tenant metro --trips 0", 2, "--trips 0: expected 1 to 10,000,000"},
	{"seed: two faults", "seed --tenant metro --trips 0 --days 0", 2,
		"--trips 0: expected 1 to 10,000,000; --days 0: expected 1 to 3,650"},
	{"seed: not one day", "seed --tenant metro --trips 5 --days -1", 2, "--days -1: expected 1 to 3,650"},
}

// meaninglessTexts are commands with a blank text, or a text with control
// characters, in every flag for free text.
var meaninglessTexts = []struct{ args, err string }{
	{"tenant create bay --name \x1b[31mBay", "name:"},
	{"tenant create bay --name ~", "name:"},
	{"tenant set metro --name a\u009bb", "name:"},
	{"tenant brand metro appName=a\x1b[31m", "appName:"},
	{"tenant brand metro logoUrl=https://x.example/\u009bb", "logoUrl:"},
	{"member add metro new@metro.example --first A\x07", "name:"},
	{"member add metro new@metro.example --last \u0081", "name:"},
	{"member add metro operator2@metro.example --role \x1b[2J", "role:"},
	{"member add metro operator2@metro.example --role ~", "role:"},
	{addAnna + "--last \x01", "--last:"},
	{addAnna + "--phone 12\x0034567", "phone:"},
	{addAnna + "--plate \x1b", "--plate:"},
	{addAnna + "--color \x1b", "--color:"},
	{addAnna + "--photo https://x.example/\u0090", "--photo:"},
	{"rider edit metro rider1@metro.example --name a\x7fb", "name:"},
	{"rider edit metro rider1@metro.example --phone abc", "phone:"},
	{"service add metro \x1bVan --base 3", "name:"},
	{"service add metro Van --base 3 --description a\x00b", "description:"},
	{"zone add metro \x1bPier --box=0,0,1,1", "name:"},
	{"zone add metro ~ --box=0,0,1,1", "name:"},
	{"business add metro \x1bShop --category deli --address Quay --lat 1 --lng 1", "name:"},
	{addShop + "--category ~", "category:"},
	{addShop + "--address Qu\u0085ay", "address:"},
	{addShop + "--phone abc", "phone:"},
	{addOrder + "1~T\x01ea~2", "item:"},
	{addOrder + "1~Tea~2 --to Qu\x02ay", "deliveryAddress:"},
	{"payment add metro rider1@metro.example " + aCard + " --brand vi\x03sa", "brand:"},
}

// Every flag for free text rejects blank texts and control characters.
func TestMeaninglessTextsAreRefused(t *testing.T) {
	w := share(t)
	w.ok("member", "add", "harbor", "operator2@metro.example", "--password", "a long password for tests")
	before := w.ok("audit", "metro", "--limit", "1000")
	for _, tc := range meaninglessTexts {
		args := strings.Split(tc.args, " ")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		out, errs, code := w.run(args...)
		if code != 1 || !strings.Contains(errs, tc.err) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("%q: exit code %d, %q, %q", tc.args, code, errs, out)
		}
	}
	if after := w.ok("audit", "metro", "--limit", "1000"); after != before {
		t.Error("something was changed")
	}
	if got := w.ok("tenant", "list"); strings.Contains(got, "bay") {
		t.Errorf("a tenant was made: %s", got)
	}
}

// Every error in a command's input is one line without Go error text, and has
// no effect.
func TestRefusals(t *testing.T) {
	w := share(t)
	before := w.ok("audit", "metro", "--limit", "1000")
	for _, tc := range refusedCommands {
		t.Run(tc.name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			for i, arg := range args {
				if args[i] = strings.ReplaceAll(arg, "~", " "); arg == "_" {
					args[i] = ""
				}
			}
			out, errs, code := w.run(args...)
			if code != tc.code || !strings.Contains(errs, tc.err) || strings.Count(errs,
				"\n") != 1 || out != "" || strings.Contains(errs, "strconv") {
				t.Errorf("exit code %d, %q, %q", code, errs, out)
			}
		})
	}
	if after := w.ok("audit", "metro", "--limit", "1000"); after != before {
		t.Error("something was changed")
	}
}
