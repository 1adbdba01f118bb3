package receipt

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/edge/api"
)

// WalletRows returns the endpoints under /wallets.
func WalletRows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/wallets/postings", "svc_list_postings", authz.Operators("tenant.wallets:read", "VIEW_WALLETS"),
			list, api.Extension(), trip.NeedsZone(), api.Tag("Wallets"), api.Summary("List a wallet's postings"),
			api.Text("The postings of one rider's or driver's wallet, newest first. The sum of all of them is the balance.")),
		api.Post("/api/v1/wallets/postings", "svc_post_to_wallet", authz.Operators("tenant.wallets:write", "MANAGE_WALLETS"),
			post, api.Extension(), api.Created(), api.Needs(needPost), api.Tag("Wallets"), api.Summary("Post to a wallet"),
			api.Confirm("It changes the money in the wallet. It cannot be undone, only balanced by another posting."),
			api.Text("Posts an amount to a rider's or driver's wallet, in the transaction that changes the balance. A `REFUND` "+
				"goes to the rider of a trip, and all refunds of a trip together never exceed what the trip took. A `PAYOUT` "+
				"never takes the balance below zero, nor what a withdrawal holds. Send an `Idempotency-Key`, so that a "+
				"repeated request posts once.")),
	}
}

// TripRows returns the endpoints under /trips and /me/trips.
func TripRows() []api.Row {
	own := authz.Both("rider.trips:read", "driver.trips:read")
	paper := api.Also(page.MediaType, "The receipt as a page to print, in the company's look and in the language of "+
		"`Accept-Language`.", printed)
	text := api.Text("What the ride cost, with tax, payment and the corrections of the fare. A trip that is not " +
		"completed has no receipt, unless the rider owes a cancellation fee: a 409. With `Accept: text/html` the " +
		"response is a page to print.")
	return []api.Row{
		api.Post("/api/v1/trips/{id}/fare", "svc_correct_fare", authz.Operators("tenant.wallets:write", "MANAGE_WALLETS"),
			correct, api.Extension(), api.Versioned(), api.Needs(needCorrection), api.Tag("Receipts"),
			api.Summary("Correct the fare of a trip"),
			api.Confirm("What was posted to the wallets is reversed and posted anew, and the receipt is issued again."),
			api.Text("For a completed trip, any number of times. The rider's and the driver's wallet get the reversal and the "+
				"new amount, the receipt a new version, and the report the new fare. The earlier versions stay. If the trip has "+
				"the fare already, nothing changes.")),
		api.Get("/api/v1/trips/{id}/receipt", "svc_get_receipt", authz.Operators("tenant.trips:read", "VIEW_TRIPS"), show,
			api.Extension(), api.Conflicts(), api.Needs(needPaper), api.Tag("Receipts"),
			api.Summary("Read the receipt of a trip"), text, paper),
		api.Get("/api/v1/me/trips/{id}/receipt", "svc_my_receipt", own, show, api.Extension(), api.Conflicts(),
			api.Needs(needPaper), api.Tag("Receipts"), api.Summary("Read the receipt of one's own trip"), text, paper),
	}
}

// needReceipt returns the keys of a trip and its receipt.
func needReceipt(t table.Tenant, p api.Peek) []table.Key {
	if id := p.Path("id"); ids.Valid(ids.Trip, id) {
		return []table.Key{trip.Key(t, id), Key(t, id)}
	}
	return nil
}

// needCorrection returns the keys of the items that a correction of a fare reads: the trip,
// its receipt and the tenant's settings.
func needCorrection(t table.Tenant, p api.Peek) []table.Key {
	return append(needReceipt(t, p), settings.Key(t)) // the tax rate, if the trip is not settled yet
}

// needPaper returns the keys of a trip and its receipt, and of the branding if the
// response is a page to print.
func needPaper(t table.Tenant, p api.Peek) []table.Key {
	return append(needReceipt(t, p), page.Keys(t, p)...)
}

// itemOf returns the item of the trip with the id. Errors: a 404 if there is no such trip,
// or if the caller is a rider or driver and it is the trip of somebody else.
func itemOf(ctx context.Context, c *api.Caller, id string) (table.Item, error) {
	if !ids.Valid(ids.Trip, id) {
		return table.Item{}, fault.NotFound()
	}
	it, err := c.Item(ctx, trip.Key(c.Tenant, id))
	owner := map[authz.Audience]string{authz.Rider: "customerId", authz.Driver: "driverId"}[c.Audience]
	if err == nil && (!it.Found() || owner != "" && it.Text(owner) != c.Actor.Subject) {
		err = fault.NotFound()
	}
	return it, err
}

type fareInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body Fare
}

// correct corrects the fare of a trip (Store.Correct).
func correct(ctx context.Context, c *api.Caller, in *fareInput) (*Corrected, error) {
	it, err := itemOf(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	s, err := storeOf(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Correct(ctx, it, in.Body)
}

// show returns the receipt of a trip.
func show(ctx context.Context, c *api.Caller, in *trip.GetInput) (*Shown, error) {
	it, err := itemOf(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	r, err := c.Item(ctx, Key(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	return Show(ctx, c.Tenant, it, r, c.Audience)
}

// printed returns a receipt as a page to print.
func printed(ctx context.Context, c *api.Caller, r *Shown) (*api.Document, error) {
	return page.Paper{Kind: "receipt", Of: r, Currency: r.Currency}.Print(ctx, c)
}

type postInput struct {
	Body Post
}

// needPost returns the keys of the wallet of a posting, of the wallet's owner, and of the
// posting's trip and its receipt.
func needPost(t table.Tenant, p api.Peek) []table.Key {
	optional := func(name string) *string {
		if text := p.Body(name); text != "" {
			return &text
		}
		return nil
	}
	asked := Post{CustomerID: optional("customerId"), DriverID: optional("driverId"), TripID: optional("tripId")}
	return asked.keys(t)
}

// storeOf returns the Store for changes by the caller. The first attempt of a change uses
// items that were read together with the access checks.
func storeOf(ctx context.Context, c *api.Caller) (Store, error) {
	live, err := c.Live(ctx)
	return Store{Tenant: c.Tenant, By: c.By(), Flags: live.Flags, Read: c.Item, Commit: c.Commit,
		Match: c.Replaces}, err
}

// post posts an amount to the wallet of a rider or driver (Store.Post).
func post(ctx context.Context, c *api.Caller, in *postInput) (*Made, error) {
	s, err := storeOf(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Post(ctx, in.Body)
}

type listInput struct {
	api.Paging
	CustomerID string `query:"customerId" minLength:"1" maxLength:"100" doc:"The rider whose wallet it is. Send either customerId or driverId."`
	DriverID   string `query:"driverId" minLength:"1" maxLength:"100" doc:"The driver whose wallet it is."`
	From       string `query:"from" format:"iso8601" doc:"Postings of this time or later: ISO 8601, in UTC if it has no offset. A date alone is a day in the company's time zone." example:"2026-01-31T08:00:00Z"`
	To         string `query:"to" format:"iso8601" doc:"Postings before this time. A date alone includes that day." example:"2026-02-01T08:00:00Z"`
}

// list returns the postings of the wallet of one rider or driver, newest first.
//
// Access pattern: T#t#WALLET#side#actor, backward, between two times. side says whether the
// actor is a rider or a driver.
func list(ctx context.Context, c *api.Caller, in *listInput) (*api.Page[wallet.Entry], error) {
	if (in.CustomerID == "") == (in.DriverID == "") {
		return nil, fault.Field("query.customerId", "expected either customerId or driverId")
	}
	side, actor := wallet.Customer, in.CustomerID
	if in.DriverID != "" {
		side, actor = wallet.Driver, in.DriverID
	}
	from, to, err := trip.Window(ctx, c, in.From, in.To)
	if err != nil {
		return nil, err
	}
	q := wallet.Postings
	if from != nil {
		q.From = wallet.PostedAt(timestamp.Ceil(*from))
	}
	if to != nil {
		q.To = wallet.PostedAt(timestamp.Ceil(*to))
	}
	if from != nil && to != nil && !from.Before(*to) {
		return nil, fault.Field("query.to", "must be after from")
	}
	return api.ListPage(ctx, c, in.Paging, api.List[wallet.Entry]{Name: "postings",
		Filters:    []string{in.CustomerID, in.DriverID, in.From, in.To},
		Partitions: []string{wallet.Key(c.Tenant, side, actor).PK}, Query: q, Map: table.DecodeDoc[wallet.Entry]})
}
