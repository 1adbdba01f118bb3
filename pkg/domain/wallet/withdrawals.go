package wallet

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// withdrawalRows returns the endpoints of withdrawals.
func withdrawalRows() []api.Row {
	withdraw := authz.Drivers("driver.wallet:withdraw")
	write := authz.Operators("tenant.wallets:write", "MANAGE_WALLETS")
	tag := api.Tag("Withdrawals")
	return []api.Row{
		api.Post("/api/v1/me/wallet/withdrawals", "svc_request_withdrawal", withdraw, requestWithdrawal, api.Created(),
			api.Extension(), tag, api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
				return []table.Key{Key(t, Driver, p.Actor().Subject)}
			}),
			api.Summary("Ask to be paid out"), api.Confirm("The wallet holds the amount until an operator decides."),
			api.Text("Asks the company to pay out a part of the balance. Until it is paid, refused or taken back, the wallet "+
				"holds the amount: it cannot be asked for or paid out again.")),
		api.Get("/api/v1/me/wallet/withdrawals", "svc_my_withdrawals", authz.Drivers("driver.wallet:read"), ownWithdrawals,
			api.Extension(), tag, api.Summary("List one's own withdrawals"), api.Text("Newest first.")),
		api.Post("/api/v1/me/wallet/withdrawals/{id}/cancel", "svc_cancel_withdrawal", withdraw, end(Cancelled),
			api.Extension(), api.Needs(needWithdrawal), tag, api.Summary("Take a withdrawal back"),
			api.Confirm("The driver is not paid, and the amount is free again."), api.Text("While it is `REQUESTED`.")),
		api.Get("/api/v1/withdrawals", "svc_list_withdrawals", authz.Operators("tenant.wallets:read", "VIEW_WALLETS"),
			withdrawals, api.Extension(), tag, api.Summary("List withdrawals"),
			api.Text("What drivers asked to be paid out, newest first.")),
		api.Post("/api/v1/withdrawals/{id}/pay", "svc_pay_withdrawal", write, end(Paid), api.Extension(),
			api.Needs(needWithdrawal), tag, api.Summary("Pay a withdrawal"),
			api.Confirm("The amount leaves the driver's wallet. The company must pay it to the driver."),
			api.Text("Posts a `PAYOUT` to the driver's wallet. The service moves no money outside of the wallet. If the "+
				"wallet does not have the amount any more, such as after commissions, the response is a 409.")),
		api.Post("/api/v1/withdrawals/{id}/refuse", "svc_refuse_withdrawal", write, refuse, api.Extension(),
			api.Needs(needWithdrawal), tag, api.Summary("Refuse a withdrawal"),
			api.Confirm("The driver is not paid, and sees the reason."), api.Text("The amount is free again.")),
	}
}

// needWithdrawal returns the key of the withdrawal in the path.
func needWithdrawal(t table.Tenant, p api.Peek) []table.Key {
	if id := p.Path("id"); ids.Valid(ids.Payout, id) {
		return []table.Key{WithdrawalKey(t, id)}
	}
	return nil
}

// tillOf returns the Till, which makes and ends withdrawals, for the caller of a request.
func tillOf(ctx context.Context, c *api.Caller) (Till, error) {
	live, err := c.Live(ctx)
	return Till{Tenant: c.Tenant, By: c.By(), Flags: live.Flags, Read: c.Item, Commit: c.Commit}, err
}

type askInput struct {
	Body struct {
		Amount money.Amount `json:"amount" minimum:"0" maximum:"1000000000000" example:"120.5" doc:"Currency units, above 0, with no more decimals than the currency has."`
	}
}

// requestWithdrawal serves a driver's request to be paid out.
func requestWithdrawal(ctx context.Context, c *api.Caller, in *askInput) (*Withdrawal, error) {
	s, err := tillOf(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Ask(ctx, c.Actor.Subject, in.Body.Amount)
}

// ownWithdrawals returns the driver's withdrawals, newest first. It reads by-g3
// T#t#DRIVER#id#WITHDRAWALS backward.
func ownWithdrawals(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Withdrawal], error) {
	partition, index := WithdrawalsOf(c.Tenant, c.Actor.Subject)
	return api.ListPage(ctx, c, *in, api.List[Withdrawal]{Name: "withdrawals", Filters: []string{c.Actor.Subject},
		Partitions: []string{partition}, Query: table.Query{Index: index, Backward: true}, Kind: &WithdrawalKind})
}

type withdrawalsInput struct {
	api.Paging
	Status string `query:"status" enum:"REQUESTED,PAID,REFUSED,CANCELLED" doc:"Withdrawals in this state."`
}

// withdrawals returns the tenant's withdrawals, newest first. It reads by-g1
// T#t#WITHDRAWALS or, for one status, by-g2 T#t#WITHDRAWALS#status, backward.
func withdrawals(ctx context.Context, c *api.Caller, in *withdrawalsInput) (*api.Page[Withdrawal], error) {
	q, partition := table.Query{Index: withdrawalsOfTenant, Backward: true}, c.Tenant.Partition("WITHDRAWALS")
	if in.Status != "" {
		q.Index, partition = withdrawalsByStatus, c.Tenant.Partition("WITHDRAWALS", in.Status)
	}
	return api.ListPage(ctx, c, in.Paging, api.List[Withdrawal]{Name: "withdrawals", Filters: []string{in.Status},
		Partitions: []string{partition}, Query: q, Kind: &WithdrawalKind})
}

type withdrawalInput struct {
	ID string `path:"id" doc:"Identifier of the withdrawal." example:"wdr_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// end returns the handler that ends a withdrawal with the status and without a reason.
func end(status string) func(context.Context, *api.Caller, *withdrawalInput) (*Withdrawal, error) {
	return func(ctx context.Context, c *api.Caller, in *withdrawalInput) (*Withdrawal, error) {
		return ended(ctx, c, in.ID, status, nil)
	}
}

type refuseInput struct {
	ID   string `path:"id" doc:"Identifier of the withdrawal." example:"wdr_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"300" example:"The bank account is missing" doc:"Why. The driver sees it."`
	}
}

// refuse ends a withdrawal as refused, with a reason.
func refuse(ctx context.Context, c *api.Caller, in *refuseInput) (*Withdrawal, error) {
	if !plaintext.IsLine(in.Body.Reason, 300) {
		return nil, fault.Field("body.reason", "expected %s", plaintext.Rule(300))
	}
	return ended(ctx, c, in.ID, Refused, &in.Body.Reason)
}

// ended ends a withdrawal with the status. A driver can end only its own withdrawals.
func ended(ctx context.Context, c *api.Caller, id, status string, reason *string) (*Withdrawal, error) {
	if !ids.Valid(ids.Payout, id) {
		return nil, fault.NotFound()
	}
	it, err := c.Item(ctx, WithdrawalKey(c.Tenant, id))
	if err != nil {
		return nil, err
	}
	s, err := tillOf(ctx, c)
	if err != nil {
		return nil, err
	}
	driver := ""
	if c.Audience == authz.Driver {
		driver = c.Actor.Subject
	}
	return s.End(ctx, it, driver, status, reason)
}
