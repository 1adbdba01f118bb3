package reference

import (
	"maps"
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

// schemaName returns the name in the document for a schema's name in huma, such
// as TripPage for PageTrip.
func schemaName(name string) string {
	for prefix, suffix := range map[string]string{"Page": "Page", "Items": "List"} {
		if item, ok := strings.CutPrefix(name, prefix); ok {
			return schemaName(item) + suffix
		}
	}
	if better, ok := names[name]; ok {
		return better
	}
	return name
}

const schemaPrefix = "#/components/schemas/"

// rename renames the schemas of a document, which is a tree of decoded JSON.
func rename(tree map[string]any) {
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for _, name := range slices.Collect(maps.Keys(schemas)) {
		if better := schemaName(name); better != name {
			schemas[better] = schemas[name]
			delete(schemas, name)
		}
	}
	renameRefs(tree)
}

func renameRefs(node any) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			if ref, ok := child.(string); ok && strings.HasPrefix(ref, schemaPrefix) {
				n[key] = schemaPrefix + schemaName(strings.TrimPrefix(ref, schemaPrefix))
				continue
			}
			renameRefs(child)
		}
	case []any:
		for _, child := range n {
			renameRefs(child)
		}
	}
}
