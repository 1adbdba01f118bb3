package receipt

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
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

type postInput struct {
	Body Post
}

// needPost names the owner and the wallet of a posting, and its trip.
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

// storeOf returns the store of the caller. Its first attempt uses the items that
// the checks have read.
func storeOf(ctx context.Context, c *api.Caller) (Store, error) {
	live, err := c.Live(ctx)
	return Store{Tenant: c.Tenant, By: c.By(), Flags: live.Flags, Read: c.Item, Commit: c.Commit}, err
}

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

// list reads T#t#WALLET#side#actor, backward, between two times.
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
