package main

import (
	"strings"
	"testing"
)

// Whatever is wrong with what a command is given is said in one line, without
// a word of Go, and nothing else happens.
func TestRefusals(t *testing.T) {
	w := start(t)
	const (
		biz  = "biz_01JMETR0000000000000000001"
		svt  = "svt_01JMETR0000000000000000001"
		food = "ord_01JMETR0000000000000000008"
		card = "--brand visa --last4 4242 --exp 04/2031"
		shop = "business add metro Shop --category deli --address Quay --lat 1 --lng 1 "
		anna = "driver add metro anna@metro.example --first Anna "
		item = "order add metro " + biz + " rider1@metro.example --to Quay --item "
	)
	long, longer := strings.Repeat("x", 101), strings.Repeat("x", 301)
	tests := []struct {
		name string
		args string // words; _ is an empty one, ~ a space within one
		code int
		err  string
	}{
		{"tenant: empty slug", "tenant create _", 1, "slug:"},
		{"tenant: long name", "tenant create bay --name " + long, 1, "name: expected 1 to 100"},
		{"tenant: currency in small letters", "tenant create bay --currency usd", 1, "ISO 4217"},
		{"tenant: no such currency", "tenant create bay --currency QQQ", 1, "ISO 4217"},
		{"tenant: no such time zone", "tenant create bay --timezone Mars/Olympus", 1, "timezone"},
		{"tenant: negative shards", "tenant create bay --shards -1", 1, "shards: expected 1 to 64"},
		{"tenant: shards that are no number", "tenant create bay --shards many", 2, `invalid argument "many" for "--shards" flag`},
		{"tenant: currency after the first trip", "tenant set metro --currency EUR", 1, "trips or orders in its currency"},
		{"tenant: another's slug", "tenant create harbor", 1, "Another tenant has this slug"},
		{"tenant: negative setting", "tenant settings metro dispatch.offerTimeoutSeconds=-1", 1, "offerTimeoutSeconds: expected a number of 0 or more"},
		{"tenant: tax above all", "tenant settings metro pricing.taxRate=1.5", 1, "taxRate: expected a share between 0 and 1"},
		{"member: no mail address", "member add metro grace", 1, "email: expected a mail address"},
		{"member: there already", "member add metro operator@metro.example --all", 1, "member of this tenant already"},
		{"driver: no name", "driver add metro anna@metro.example", 1, "name: expected a first or last name"},
		{"driver: long name", anna + "--last " + long, 1, "lastName: expected at most 100"},
		{"driver: long plate", anna + "--plate " + long, 1, "vehiclePlate: expected at most 100"},
		{"driver: rating above five", anna + "--rating 6", 1, "rating: expected 0 to 5"},
		{"driver: negative rating", anna + "--rating -1", 1, "rating: expected 0 to 5"},
		{"driver: latitude of no place", anna + "--lat 91 --lng 0", 1, "location: expected a latitude"},
		{"driver: half a location", anna + "--lat 1", 1, "location: expected a latitude"},
		{"driver: latitude that is no number", anna + "--lat north --lng 0", 1, "location: expected a latitude"},
		{"driver: no such status", anna + "--status FLYING", 1, "status: expected OFFLINE"},
		{"driver: picture not by https", anna + "--photo http://x.example", 1, "photoUrl: expected an https URL"},
		{"driver: address taken", "driver add metro driver2@metro.example --first Anna", 1, "Another account has this mail address"},
		{"driver: changed to an address taken", "driver edit metro driver1@metro.example --email driver2@metro.example", 1, "Another account has this mail address"},
		{"driver: no limit", "driver list metro --limit 0", 2, "--limit 0: expected at least 1"},
		{"driver: unknown tenant", "driver list nowhere", 1, `there is no tenant "nowhere"`},
		{"driver: unknown flag", anna + "--wings 2", 2, "unknown flag: --wings"},
		{"driver: nothing to change", "driver edit metro driver1@metro.example", 2, "nothing to change"},
		{"rider: no name", "rider add metro anna@metro.example", 1, "name: expected a first or last name"},
		{"rider: long name", "rider add metro anna@metro.example --first " + long, 1, "firstName: expected at most 100"},
		{"rider: address taken", "rider add metro rider2@metro.example --first Anna", 1, "Another account has this mail address"},
		{"rider: no mail address", "rider edit metro rider1@metro.example --email nobody", 1, "email: expected a mail address"},
		{"service: no price", "service add metro Van", 1, "prices: expected one above 0"},
		{"service: free of charge", "service add metro Van --base 0 --per-km 0.00", 1, "prices: expected one above 0"},
		{"service: made free of charge", "service set metro " + svt + " --base 0 --per-km 0 --per-minute 0 --minimum 0", 1, "prices: expected one above 0"},
		{"service: negative price", "service add metro Van --base -3", 1, "baseFare: expected an amount of 0 or more"},
		{"service: price that is no number", "service add metro Van --per-km cheap", 1, "perKm: expected an amount of 0 or more"},
		{"service: more than all of the fare", "service add metro Van --base 3 --commission 1.1", 1, "commission: expected a share"},
		{"service: nobody fits", "service add metro Van --base 3 --capacity 0", 1, "capacity: expected 1 to 1,000"},
		{"service: empty name", "service add metro _ --base 3", 1, "name: expected 1 to 100"},
		{"service: unknown", "service set metro svt_x --base 3", 1, `there is no service type "svt_x"`},
		{"zone: no numbers", "zone add metro Pier --box a,b,c,d", 2, "west,south,east,north"},
		{"zone: turned around", "zone add metro Pier --box=5,5,1,1", 2, "west below east"},
		{"zone: beyond the globe", "zone add metro Pier --box=-200,0,1,1", 1, "area: expected positions of longitude and latitude"},
		{"zone: empty name", "zone add metro _ --box=0,0,1,1", 1, "name: expected 1 to 100"},
		{"zone: no such file", "zone add metro Pier --area /nowhere.geojson", 1, "no such file"},
		{"zone: unknown", "zone set metro zon_x --priority 2", 1, `there is no zone "zon_x"`},
		{"business: no category", "business add metro Shop", 1, "category: expected 1 to 100"},
		{"business: latitude of no place", shop + "--lat 91", 1, "lat: expected a latitude and a longitude"},
		{"business: long address", shop + "--address " + longer, 1, "address: expected 1 to 300"},
		{"business: logo not by https", shop + "--logo x", 1, "logoUrl: expected an https URL"},
		{"business: neither on nor off", "business set metro " + biz + " --active=perhaps", 2, `invalid argument "perhaps" for "--active" flag`},
		{"business: unknown", "business set metro biz_x --active=false", 1, `there is no business "biz_x"`},
		{"order: no such business", "order add metro biz_x rider1@metro.example --to Quay --item 1~Tea~2", 1, "business: expected the id"},
		{"order: nothing of it", item + "0~Tea~2", 1, "quantity of 1 to 1,000"},
		{"order: negative price", item + "1~Tea~-2", 1, "not negative"},
		{"order: half a cent", item + "1~Tea~2.555", 1, "at most 2 decimals (USD)"},
		{"order: negative fee", item + "1~Tea~2 --fee -1", 1, "deliveryFee: expected a number that is not negative"},
		{"order: nowhere to go", item + "1~Tea~2 --to _", 1, "deliveryAddress: expected 1 to 300"},
		{"order: no such status", "order set metro " + food + " FLYING", 2, "there is no status FLYING; expected PENDING"},
		{"order: unknown driver", "order set metro " + food + " --driver nobody@metro.example", 1, "there is no driver"},
		{"payment: whole card number", "payment add metro rider1@metro.example " + card + " --last4 4242424242424242", 1, "last4: expected the last four digits"},
		{"payment: no such month", "payment add metro rider1@metro.example " + card + " --exp 13/2031", 1, "exp: expected a month and a year"},
		{"payment: empty brand", "payment add metro rider1@metro.example " + card + " --brand _", 1, "brand: expected 1 to 100"},
		{"payment: unknown", "payment set metro rider1@metro.example pay_x --default", 1, `there is no payment method "pay_x"`},
		{"audit: unknown tenant", "audit nowhere", 1, `there is no tenant "nowhere"`},
		{"token: unknown tenant", "token list nowhere", 1, `there is no tenant "nowhere"`},
		{"feedback: no such type", "feedback list --type WISH", 2, "expected IDEA, BUG"},
		{"feedback: no such status", "feedback list --status OPEN", 2, "expected ALL, UNDER_REVIEW"},
		{"feedback: no such order", "feedback list --sort best", 2, "expected votes, newest, comments"},
		{"feedback: too many", "feedback list --limit 1001", 2, "expected 1 to 1000"},
		{"feedback: put into no such status", "feedback status let-a-business-pause-its-orders DONE", 1, "status: expected UNDER_REVIEW"},
		{"rebuild: unknown tenant", "rebuild nowhere", 1, `there is no tenant "nowhere"`},
		{"seed: no trips", "seed --tenant metro --trips 0", 2, "--trips 0: expected 1 to 10,000,000"},
		{"seed: not one day", "seed --tenant metro --trips 5 --days -1", 2, "--days -1: expected 1 to 3,650"},
	}
	before := w.ok("audit", "metro", "--limit", "1000")
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			for i, arg := range args {
				if args[i] = strings.ReplaceAll(arg, "~", " "); arg == "_" {
					args[i] = ""
				}
			}
			out, errs, code := w.run(args...)
			if code != tc.code || !strings.Contains(errs, tc.err) || strings.Count(errs, "\n") != 1 || out != "" || strings.Contains(errs, "strconv") {
				t.Errorf("exit code %d, %q, %q", code, errs, out)
			}
		})
	}
	if after := w.ok("audit", "metro", "--limit", "1000"); after != before {
		t.Error("something was changed")
	}
}
