package operation

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"svc/pkg/domain/settings"
)

// shape is what the command of an operation has beside what its row says: names that people
// know from earlier versions, and columns.
type shape struct {
	Group, Name string // in place of those of the path
	aliases     []string
	extra       []string           // members that may also be arguments, behind those of the path
	old         map[string]oldFlag // flags of earlier versions
	requires    []string           // members that a person must give, and a program need not
	shown       string             // a member that the example has too
	Columns     string             // of the table of a list
	sections    map[string]string  // columns of the lists within a response
	then        string             // the operation whose response is added, without what the response has itself
	next        string             // what to do next, with SLUG and ID
}

// oldFlag is a flag that sets a member. read returns the texts that its text stands for; nil
// if they are the same.
type oldFlag struct {
	member, help string
	read         func(string) ([]string, error)
}

// renamed returns the flags that are another name only: flag, member, flag, member, ….
func renamed(pairs ...string) map[string]oldFlag {
	out := map[string]oldFlag{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = oldFlag{member: pairs[i+1]}
	}
	return out
}

// singular are the names that groups had in earlier versions.
var singular = map[string]string{"trips": "trip", "zones": "zone", "services": "service", "businesses": "business",
	"orders": "order", "drivers": "driver", "customers": "rider", "webhooks": "webhook", "wallets": "wallet",
	"machines": "machine", "members": "member"}

// nouns are what messages call a resource, where it is not the group's name without its s.
var nouns = map[string]string{"services": "service type", "webhooks": "webhook endpoint", "businesses": "business",
	"menu": "menu item", "customers": "rider"}

// descriptions are the help texts of groups that have generated commands only, where "… of a tenant" is not enough.
var descriptions = map[string]string{"zones": "Dispatch zones of a tenant", "menu": "Menus of businesses",
	"branding":  "How a tenant's apps look",
	"documents": "Documents of drivers", "postings": "Postings in the wallets of a tenant",
	"withdrawals": "Withdrawals that drivers ask for", "sandbox": "The clock of a sandbox"}

// ByHand are the operations whose command is written by hand, because it does more, and that
// command.
var ByHand = map[string]string{
	"svc_book_trip":              "trip book",
	"svc_get_statement":          "statement",
	"svc_list_events":            "events",
	"svc_stream_events":          "events --follow",
	"svc_invite_driver":          "driver add",
	"svc_invite_customer":        "rider add",
	"svc_create_export":          "export",
	"svc_list_exports":           "export",
	"svc_get_export":             "export",
	"svc_list_members":           "members list",
	"svc_remove_member":          "members remove",
	"svc_create_import":          "import",
	"svc_list_imports":           "import",
	"svc_get_import":             "import",
	"svc_list_import_errors":     "import",
	"svc_list_services":          "services list",
	"svc_list_businesses":        "businesses list",
	"svc_list_drivers":           "drivers list",
	"svc_list_customers":         "customers list",
	"svc_test_webhook":           "webhooks test",
	"svc_replay_webhook":         "webhooks replay",
	"svc_create_privacy_request": "privacy erase",
	"svc_get_privacy_request":    "privacy show",
	"svc_run_privacy_request":    "privacy run",
	"svc_undo_import":            "import undo",
}

var shapes = map[string]shape{
	"svc_list_trips": {old: renamed("rider", "customerId", "driver", "driverId"), Columns: "REQUESTED=requestedAt " +
		"STATUS=status CODE=tripCode FARE=finalFare|estimatedFare~currency RIDER=customerId DRIVER=driverId ID+=id"},
	"svc_get_trip": {aliases: []string{"show"}, sections: map[string]string{
		"log": "AT=at EVENT=type BY=actor.type NAME=actor.id STATUS=to ID+=actor.id"}},
	"svc_cancel_trip": {then: "svc_get_trip", requires: []string{"reason"}},
	"svc_complete_for_driver": {then: "svc_get_trip", old: renamed("fare", "finalFare", "distance", "actualDistance",
		"duration", "actualDuration"), shown: "finalFare"},
	"svc_assign_trip": {then: "svc_get_trip", aliases: []string{"hand-over"}, old: renamed("driver",
		"driverId")},
	"svc_unassign_trip":             {then: "svc_get_trip", shown: "reason"},
	"svc_report_no_show_for_driver": {then: "svc_get_trip"},
	"svc_arrive_for_driver":         {then: "svc_get_trip"},
	"svc_start_for_driver":          {then: "svc_get_trip"},
	"svc_correct_fare":              {then: "svc_get_trip", extra: []string{"finalFare"}},

	"svc_list_zones":  {Columns: "NAME=name PRIORITY=priority ACTIVE=active ID=id"},
	"svc_create_zone": {aliases: []string{"add"}, extra: []string{"name"}, old: inBox},
	"svc_update_zone": {aliases: []string{"set"}, old: inBox, shown: "active"},

	"svc_create_service": {aliases: []string{"add"}, extra: []string{"name"}, old: prices, shown: "baseFare"},
	"svc_update_service": {aliases: []string{"set"}, old: prices, shown: "active"},

	"svc_create_business": {aliases: []string{"add"}, extra: []string{"name"}, old: renamed("logo", "logoUrl", "fee",
		"deliveryFee")},
	"svc_update_business": {aliases: []string{"set"}, old: renamed("logo", "logoUrl", "fee", "deliveryFee"),
		shown: "active"},
	"svc_list_menu":        {Columns: "NAME=name PRICE=price AVAILABLE=available SECTION=section ID=id"},
	"svc_create_menu_item": {aliases: []string{"add"}, extra: []string{"name", "price"}},
	"svc_update_menu_item": {aliases: []string{"set"}, shown: "available"},
	"svc_list_orders": {Columns: "CODE=orderCode STATUS=status TOTAL=total~currency CREATED=createdAt " +
		"BUSINESS=businessId RIDER=customerId ID+=id"},
	"svc_update_order": {aliases: []string{"set"}, extra: []string{"status"}, old: renamed("driver", "driverId")},

	"svc_list_webhooks": {Columns: "ID=id STATUS=status REASON=reason TYPES=types URL=url"},
	"svc_create_webhook": {extra: []string{"url"}, old: onlyTypes, next: "The secret is shown once. When the receiver " +
		"runs: svc webhooks enable SLUG ID"},
	"svc_update_webhook": {old: onlyTypes, shown: "enabled"},
	"svc_rotate_webhook_secret": {old: map[string]oldFlag{"overlap": {member: "overlapHours", read: hoursOf,
		help: "`duration` for which the old secret signs too, as in 1h"}}, next: "The secret is shown once."},
	"svc_list_webhook_deliveries": {Columns: "UPDATED=updatedAt TYPE=type STATUS=status LAST=attempts.result " +
		"NEXT+=nextAt EVENT=eventId"},

	"svc_list_machines": {Columns: "NAME=name ENABLED=enabled PERMISSIONS+=permissions ENDS+=endsAt CLIENT=clientId ID=id"},
	"svc_create_machine": {extra: []string{"name"}, shown: "permissions", next: "It signs in by a secret: svc machine " +
		"add-secret SLUG ID"},
	"svc_update_machine":        {shown: "enabled"},
	"svc_create_machine_secret": {Group: "machines", Name: "add-secret", next: "The secret is shown once."},
	"svc_delete_machine_secret": {Group: "machines", Name: "remove-secret"},

	"svc_invite_member": {extra: []string{"email"}, shown: "role", next: "The link is shown once. It is valid for " +
		"24 hours."},
	"svc_update_member": {shown: "role"},
	"svc_list_roles":    {Columns: "NAME=name TEXT=text"},

	"svc_list_postings": {Columns: "AT=createdAt TYPE=type AMOUNT=amount DESCRIPTION=description TRIP+=tripId " +
		"BY+=by ID+=id"},
	"svc_list_withdrawals":      {Columns: "AT=requestedAt STATUS=status AMOUNT=amount~currency DRIVER=driverId ID=id"},
	"svc_list_driver_documents": {Columns: "KIND=kind STATE=state EXPIRES=expiresOn NUMBER=numberLast4 ID=id"},
	"svc_search_feedback": {Columns: "VOTES=voteCount COMMENTS+=commentCount TYPE=type STATUS=status SLUG=slug " +
		"ID+=id"},

	"svc_update_driver":    {shown: "disabled"},
	"svc_update_customer":  {shown: "disabled"},
	"svc_update_settings":  {shown: "taxiEnabled"},
	"svc_update_branding":  {shown: "appName"},
	"svc_comment_feedback": {Name: "comment"},
	"svc_vote_feedback":    {Group: "feedback", Name: "vote"},
	"svc_unvote_feedback":  {Group: "feedback", Name: "unvote"},
	"svc_wallet_totals":    {Name: "list"},
	"svc_post_to_wallet":   {shown: "driverId"},
}

// prices are the flags of a service type's prices.
var prices = renamed("base", "baseFare", "minimum", "minimumFare", "commission", "commissionRate", "icon", "iconUrl")

// onlyTypes is the flag for one type of event, or several with commas.
var onlyTypes = map[string]oldFlag{"type": {member: "types", read: listed,
	help: "only events of this `TYPE`; may be repeated. All without it"}}

// inBox is the flag for the outline of a zone that is a rectangle.
var inBox = map[string]oldFlag{"box": {member: "area", read: boxOf,
	help: "`west,south,east,north` in degrees, in place of --area; west is greater than east if the box crosses the " +
		"180th meridian"}}

func boxOf(text string) ([]string, error) {
	var sides [4]json.Number
	for i, side := range strings.SplitN(text, ",", len(sides)) {
		sides[i] = json.Number(strings.TrimSpace(side))
	}
	area, err := settings.Box(sides[0], sides[1], sides[2], sides[3])
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(area)
	return []string{string(out)}, err
}

// listed are the elements of a list with commas.
func listed(text string) ([]string, error) { return strings.Split(text, ","), nil }

// hoursOf returns the hours of a duration.
func hoursOf(text string) ([]string, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d%time.Hour != 0 {
		return nil, errors.New("expected whole hours, as in 48h")
	}
	return []string{strconv.Itoa(int(d.Hours()))}, nil
}
