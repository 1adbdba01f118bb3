package wallet

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of wallets.
func Rows() []api.Row {
	return append([]api.Row{
		api.Get("/api/v1/wallets", "svc_wallet_totals", authz.Operators("tenant.wallets:read", "VIEW_WALLETS"), overview,
			api.Tag("Wallets"), api.Summary("Total or list wallets"),
			api.Text("Totals of the drivers' and the customers' wallets; with `type` only of one side. With `type` and "+
				"`detail=1`, the wallets of that side, highest balance first, in pages.")),
		api.Get("/api/v1/me/wallet", "svc_my_wallet", authz.Both("rider.wallet:read", "driver.wallet:read"), mine,
			api.Tag("Wallets"), api.Summary("Read the caller's wallet"),
			api.Text("The balance and the last 20 transactions, newest first.")),
	}, withdrawalRows()...)
}

// Mine is a wallet as its owner sees it (specification, "Wallet").
type Mine struct {
	Balance      money.Amount `json:"balance" doc:"Currency units; may be below zero."`
	Transactions []Posting    `json:"transactions" doc:"The last 20, newest first."`
}

// mine reads the caller's own wallet with one query.
func mine(ctx context.Context, c *api.Caller, _ *struct{}) (*Mine, error) {
	out, err := Statement(ctx, c.Tenant, SideOf(c.Audience), c.Actor.Subject)
	return &out, err
}

// Total is the sum of the drivers' wallets, or of the customers' wallets.
type Total struct {
	Count   int64        `json:"count" doc:"Number of wallets with at least one transaction."`
	Balance money.Amount `json:"balance" doc:"Sum of the balances, currency units."`
}

// Totals has the sums of the drivers' and of the customers' wallets, or only the requested
// sum.
type Totals struct {
	Currency  string `json:"currency" doc:"ISO 4217 code."`
	Drivers   *Total `json:"drivers,omitempty" doc:"The drivers' wallets."`
	Customers *Total `json:"customers,omitempty" doc:"The riders' wallets."`
}

// Listed is a wallet in the operator's list.
type Listed struct {
	ID        string       `json:"id" doc:"The driver's or customer's identifier."`
	Name      string       `json:"name" doc:"The driver's or customer's name."`
	Balance   money.Amount `json:"balance" doc:"Currency units."`
	Currency  string       `json:"currency" doc:"ISO 4217 code."`
	UpdatedAt string       `json:"updatedAt" format:"date-time" doc:"Time of the newest transaction: when its trip was completed."`
}

// Overview is the response of GET /wallets: totals or a page of the list.
type Overview struct {
	Totals *Totals
	Page   *api.Page[Listed]
}

// MarshalJSON encodes the totals or the page.
func (o Overview) MarshalJSON() ([]byte, error) {
	if o.Page != nil {
		return json.Marshal(o.Page)
	}
	return json.Marshal(o.Totals)
}

// Schema returns the OpenAPI schema: totals or a page.
func (Overview) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[Totals](), true, "WalletTotals"), r.Schema(reflect.TypeFor[api.Page[Listed]](), true,
			"WalletPage")}}
}

type overviewInput struct {
	api.Paging
	Type   string `query:"type" enum:"driver,customer" doc:"One side only."`
	Detail string `query:"detail" enum:"1" doc:"With type: list the wallets of that side."`
}

// Resolve implements huma.Resolver. It checks which parameters go together.
func (in *overviewInput) Resolve(huma.Context) (errs []error) {
	if in.Detail == "1" && in.Type == "" {
		errs = append(errs, &huma.ErrorDetail{Location: "query.type", Message: "is required with detail=1"})
	}
	if in.Detail == "" && in.Cursor != "" {
		errs = append(errs, &huma.ErrorDetail{Location: "query.cursor",
			Message: "expected only with detail=1, because the totals have no pages"})
	}
	return errs
}

// overview returns the totals or, with detail=1, a page of the list.
func overview(ctx context.Context, c *api.Caller, in *overviewInput) (*Overview, error) {
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	if in.Detail != "" {
		page, err := listing(ctx, c, Side(in.Type), in.Paging, shards)
		return &Overview{Page: page}, err
	}
	totals, err := total(ctx, c, Side(in.Type), shards)
	return &Overview{Totals: totals}, err
}

// listing returns the wallets of drivers or of customers (side), highest balance first,
// then by actor. It reads by-g1 T#t#WALLETS#side#shard, merged. A cursor consists of a
// balance and an actor. Therefore a wallet whose balance does not change keeps its
// position, even if other balances change.
func listing(ctx context.Context, c *api.Caller, side Side, p api.Paging, shards int) (*api.Page[Listed], error) {
	return api.ListPage(ctx, c, p, api.List[Listed]{Name: "wallets", Filters: []string{string(side)},
		Partitions: api.Sharded(c.Tenant, shards, "WALLETS", string(side)), Query: table.Query{Index: 1},
		Map: func(it table.Item) (Listed, error) {
			w, err := FromItem(it)
			return Listed{w.Actor, w.Name, money.Of(w.Balance), w.Currency, w.UpdatedAt}, err
		}})
}

// total reads the sums of the drivers' or of the customers' wallets, or both if side is "".
func total(ctx context.Context, c *api.Caller, side Side, shards int) (*Totals, error) {
	sums, err := counter.Read(ctx, c.Tenant, shards, counter.DriverWallets, counter.CustomerWallets)
	if err != nil {
		return nil, err
	}
	live, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	of := func(s counter.Sums) *Total { return &Total{Count: s.Int("count"), Balance: money.Of(s["balance"])} }
	out := &Totals{Currency: live.Currency}
	if side != Customer {
		out.Drivers = of(sums[counter.DriverWallets])
	}
	if side != Driver {
		out.Customers = of(sums[counter.CustomerWallets])
	}
	return out, nil
}
