package repository_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"svc/pkg/base/fault"
)

const schemaPrefix = "#/components/schemas/"

// schemaNames maps a schema's name in huma, mostly that of its Go type, to its name in
// the document. A schema that is not listed keeps its name. In Go, the package
// makes a name unique, as in feedback.Draft. Generated clients have one
// namespace and need FeedbackDraft.
var schemaNames = map[string]string{
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

// naming maps names in huma to names in one document.
type naming map[string]string

// of returns the name in the document, such as TripPage for PageTrip.
func (s naming) of(name string) string {
	for prefix, suffix := range map[string]string{"Page": "Page", "Items": "List", "Cut": "List"} {
		if item, ok := strings.CutPrefix(name, prefix); ok {
			return s.of(item) + suffix
		}
	}
	return cmp.Or(s[name], name)
}

// unnamedBody matches huma's name of a body whose type has no name in Go. The number
// depends on the other rows.
var unnamedBody = regexp.MustCompile(`^(\w*)InputBody\d*$`)

// nameBodies names each body without a name after its operation, such as
// CreateExportRequest for svc_create_export. If several operations have the body, the
// first one by name counts.
func (s naming) nameBodies(paths any) {
	operations := map[string]string{} // by the reference to the body
	visit("", paths, func(_ string, n map[string]any) {
		id, _ := n["operationId"].(string)
		visit("", n["requestBody"], func(_ string, body map[string]any) {
			ref, _ := body["$ref"].(string)
			if name := strings.TrimPrefix(ref, schemaPrefix); id != "" && s[name] == "" && unnamedBody.MatchString(name) {
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

// renameSchemas renames the schemas of a document, which is a tree of decoded JSON.
func renameSchemas(tree map[string]any) {
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	known := naming(maps.Clone(schemaNames))
	known.nameBodies(tree["paths"])
	for _, name := range slices.Collect(maps.Keys(schemas)) {
		if better := known.of(name); better != name {
			schemas[better] = schemas[name]
			delete(schemas, name)
		}
	}
	visit("", tree, func(_ string, n map[string]any) {
		for key, child := range n {
			if ref, ok := child.(string); ok && strings.HasPrefix(ref, schemaPrefix) {
				n[key] = schemaPrefix + known.of(strings.TrimPrefix(ref, schemaPrefix))
			}
		}
	})
}

// enumNames lists the enumerations of the document by name. Generated clients have
// one type for each of them, however many members have it.
var enumNames = map[string]string{
	"MemberStatus":        "ACTIVE DISABLED INVITED",
	"RoleName":            "accountant dispatcher owner viewer",
	"Audience":            "dashboard driver rider",
	"AssertionAlgorithm":  "ES256 EdDSA PS256 RS256",
	"BugPlatform":         "ANDROID DESKTOP IOS WEB",
	"ClientAuthMethod":    "client_secret_basic client_secret_post none private_key_jwt",
	"DriverDocumentKind":  "DRIVING_LICENCE IDENTITY INSURANCE OTHER VEHICLE_REGISTRATION",
	"DriverDocumentState": "APPROVED PENDING REJECTED",
	"DriverLicence":       "any valid",
	"DriverStatusMode":    "free strict",
	"DriverStatus":        "BUSY OFFLINE ONLINE",
	"ErrorCode":           strings.Join(fault.Codes(), " "),
	"ExportKind":          "customers drivers orders postings receipts report trips",
	"ImportUndoStatus":    "DONE REFUSED RUNNING",
	"FeedbackSort":        "comments newest votes",
	"FeedbackStatus":      "COMPLETED IN_PROGRESS PLANNED REJECTED UNDER_REVIEW",
	"FeedbackStatusQuery": "ALL COMPLETED IN_PROGRESS PLANNED REJECTED UNDER_REVIEW",
	"FeedbackType":        "BUG IDEA",
	"PrivacyKind":         "erase export",
	"PrivacyStatus":       "BLOCKED DONE READY RUNNING VALIDATING WITHDRAWN",
	"PrivacyReasonCode":   "BALANCE OPEN_ORDER OPEN_TRIP STOPPED WITHDRAWAL",
	"FileFormat":          "csv ndjson",
	"GrantType":           "authorization_code refresh_token",
	"IDTokenAlgorithm":    "ES256 RS256",
	"ImportDates":         "dmy iso mdy",
	"ImportDecimal":       "comma point",
	"ImportEncoding":      "latin1 utf-8",
	"ImportFaultCode":     "cells duplicate encoding formula invalid required taken unknown",
	"ImportKey":           "email externalId phone",
	"ImportKind":          "addresses customers drivers trips",
	"ImportMode":          "run validate",
	"ImportStatus":        "DONE FAILED RUNNING VALIDATING WAITING",
	"JobStatus":           "FAILED PENDING READY RUNNING",
	"OAuthErrorCode": "access_denied insufficient_scope invalid_client invalid_client_metadata invalid_grant " +
		"invalid_redirect_uri invalid_request invalid_scope invalid_target invalid_token method_not_allowed not_found " +
		"payload_too_large rate_limited server_error temporarily_unavailable unauthorized_client unsupported_grant_type " +
		"unsupported_media_type",
	"OrderStatus":   "ACCEPTED CANCELLED DELIVERED PENDING PICKED_UP PREPARING READY",
	"PaymentType":   "CARD CASH WALLET",
	"RoutingEngine": "osrm valhalla",
	"DispatchMode":  "manual offers open",
	"ServiceArea":   "off strict",
	"ThemeMode":     "dark light system",
	"TripActorType": "dashboard driver rider system",
	"TripEvent": "ACCEPTED ARRIVED ASSIGNED BOOKED CANCELLED COLLECTING_OFFERS COMPLETED DECLINED DUE FARE_CORRECTED " +
		"HANDED_OVER OFFERED RATED RELEASED REQUESTED SEARCHING STARTED UNANSWERED UNASSIGNED",
	"TripStatus": "ASSIGNED CANCELLED COLLECTING_OFFERS COMPLETED DRIVER_ARRIVED IN_PROGRESS PENDING SCHEDULED " +
		"SEARCHING WAITING_CUSTOMER",
	"WithdrawalStatus": "CANCELLED PAID REFUSED REQUESTED",
	"ReceiptLineType":  "CANCELLATION_FEE FARE TAX",
	"PostingType":      "ADJUSTMENT PAYOUT REFUND TOP_UP TRIP_PAYMENT",
	"PostingInputType": "ADJUSTMENT PAYOUT REFUND TOP_UP",
	"DeliveryResult": "address_not_public challenge_failed connection_error connection_refused disabled dns_error gone " +
		"http_3xx http_4xx http_5xx succeeded timeout tls_error",
	"DeliveryStatus": "failed pending succeeded",
	"WebhookStatus":  "disabled enabled pending",
	"WalletSide":     "customer driver",
}

// nameEnums replaces each enumeration in the document, which is a tree of decoded
// JSON, by a reference to a named schema, and an enumeration of one value by a
// constant.
func nameEnums(tree map[string]any) error {
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	found := map[string]any{}
	if err := findEnums(tree, found); err != nil {
		return err
	}
	for name, values := range found {
		if schemas[name] != nil {
			return fmt.Errorf("a schema and an enumeration are called %s", name)
		}
		schemas[name] = map[string]any{"type": "string", "enum": values}
	}
	return nil
}

func findEnums(node any, found map[string]any) error {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if err := findEnums(child, found); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(n)) { // the order of an enumeration is that of its last use
			if err := findEnums(n[name], found); err != nil {
				return err
			}
		}
		if values, ok := n["enum"].([]any); ok {
			return nameEnum(n, values, found)
		}
	}
	return nil
}

func nameEnum(n map[string]any, values []any, found map[string]any) error {
	texts := []string{}
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	delete(n, "enum")
	if len(values) == 1 {
		n["const"] = values[0]
		return nil
	}
	slices.Sort(texts)
	for name, listed := range enumNames {
		if strings.Join(texts, " ") != listed {
			continue
		}
		delete(n, "type")
		ref := map[string]any{"$ref": schemaPrefix + name}
		if len(texts) < len(values) {
			n["oneOf"] = []any{ref, map[string]any{"type": "null"}}
		} else {
			n["$ref"] = ref["$ref"]
		}
		found[name] = slices.DeleteFunc(values, func(v any) bool { return v == nil })
		return nil
	}
	return fmt.Errorf("the enumeration %v has no name: add it to enumNames", texts)
}
