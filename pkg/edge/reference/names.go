package reference

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// names maps a schema's name in huma, mostly that of its Go type, to its name in
// the document. A schema that is not in names keeps its name. In Go, the package
// makes a name unique, as in feedback.Draft. Generated clients have one
// namespace and need FeedbackDraft.
var names = map[string]string{
	"Accepted": "AcceptedTrip", "Arrived": "ArrivedTrip", "Started": "StartedTrip", "Finished": "CompletedTrip",
	"Stopped": "CancelledTrip", "Changed": "ChangedTrip", "Booking": "TripBooking",
	"Erased": "DeletedTrip", "AssignInputBody": "AssignRequest", "Rated": "RatedTrip", "RateInputBody": "TripRating",
	"Ride": "RideRequest", "Reason": "CancelRequest", "Measurements": "CompleteRequest",
	"LogEntry": "TripLogEntry", "LogActor": "TripLogActor", "LogData": "TripLogData",
	"Save": "AddressInput", "Polygon": "ZonePolygon", "MultiPolygon": "ZoneMultiPolygon", "Patch": "BrandingPatch",
	"Method": "PaymentMethod", "Draft": "FeedbackDraft", "Remark": "FeedbackCommentDraft", "PostItem": "FeedbackPost",
	"PostDetail": "FeedbackPostDetail", "Comment": "FeedbackComment", "Vote": "FeedbackVote", "Fault": "ErrorDetail",
	"Line": "OrderLine", "Listed": "WalletOfActor", "Mine": "Wallet", "Total": "WalletTotal", "Totals": "WalletTotals",
	"Overview": "SettingsOverview", "Dispatch": "DispatchSettings", "Payments": "PaymentSettings",
	"Pricing": "PricingSettings", "Window": "ReportWindow", "Summary": "ReportSummary",
	"Entry": "WalletPosting", "Made": "PostedToWallet", "Post": "WalletPostingInput",
	"Shown": "Receipt", "Portion": "ReceiptLine", "Tax": "ReceiptTax", "Payment": "ReceiptPayment", "Pay": "ReceiptDriver",
	"Change": "ReceiptCorrection", "Fare": "FareCorrectionInput", "Corrected": "CorrectedFare",
	"Event": "FeedEvent", "Feed": "EventFeed",
	"Endpoint": "WebhookEndpoint", "WithSecret": "WebhookEndpointWithSecret", "Delivery": "WebhookDelivery",
	"Attempt": "WebhookAttempt", "Asked": "WebhookRequest", "TestInputBody": "WebhookTest",
	"RotateInputBody": "WebhookRotation", "ReplayInputBody": "WebhookReplay",
	"StatusChanged": "DriverStatusChange", "StatusInputBody": "DriverStatusInput", "StopInputBody": "StopTripRequest",
}

// schemaNames maps names in huma to names in one document.
type schemaNames map[string]string

// of returns the name in the document, such as TripPage for PageTrip.
func (s schemaNames) of(name string) string {
	for prefix, suffix := range map[string]string{"Page": "Page", "Items": "List"} {
		if item, ok := strings.CutPrefix(name, prefix); ok {
			return s.of(item) + suffix
		}
	}
	return cmp.Or(s[name], name)
}

// unnamed matches huma's name of a body whose type has no name in Go. The number
// depends on the other rows.
var unnamed = regexp.MustCompile(`^(\w*)InputBody\d*$`)

// nameBodies names each body without a name after its operation, such as
// CreateExportRequest for svc_create_export. If several operations have the body, the
// first one by name counts.
func (s schemaNames) nameBodies(paths any) {
	operations := map[string]string{} // by the reference to the body
	walk(paths, func(n map[string]any) {
		id, _ := n["operationId"].(string)
		walk(n["requestBody"], func(body map[string]any) {
			ref, _ := body["$ref"].(string)
			if name := strings.TrimPrefix(ref, schemaPrefix); id != "" && s[name] == "" && unnamed.MatchString(name) {
				operations[name] = min(cmp.Or(operations[name], id), id)
			}
		})
	})
	for name, id := range operations {
		for word := range strings.SplitSeq(strings.TrimPrefix(id, "svc_"), "_") {
			s[name] += strings.ToUpper(word[:1]) + word[1:]
		}
		s[name] = strings.TrimSuffix(s[name], "Request") + "Request"
	}
}

const schemaPrefix = "#/components/schemas/"

// rename renames the schemas of a document, which is a tree of decoded JSON.
func rename(tree map[string]any) {
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	known := schemaNames(maps.Clone(names))
	known.nameBodies(tree["paths"])
	for _, name := range slices.Collect(maps.Keys(schemas)) {
		if better := known.of(name); better != name {
			schemas[better] = schemas[name]
			delete(schemas, name)
		}
	}
	walk(tree, func(n map[string]any) {
		for key, child := range n {
			if ref, ok := child.(string); ok && strings.HasPrefix(ref, schemaPrefix) {
				n[key] = schemaPrefix + known.of(strings.TrimPrefix(ref, schemaPrefix))
			}
		}
	})
}

// walk calls visit for each object of a JSON tree.
func walk(node any, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		visit(n)
		for _, child := range n {
			walk(child, visit)
		}
	case []any:
		for _, child := range n {
			walk(child, visit)
		}
	}
}
