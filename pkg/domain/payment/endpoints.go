package payment

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of payment methods.
func Rows() []api.Row {
	change, tag, own := authz.Riders("rider.payments:write"), api.Tag("Me"), api.Early(readOwn)
	silent := api.NoEvent("a rider's own list")
	return []api.Row{
		api.Get("/api/v1/me/payment-methods", "svc_list_payment_methods", authz.Riders("rider.payments:read"), list,
			api.Tag("Me"), api.Summary("List my payment methods"), api.Text("The default first, then the newest.")),
		api.Post("/api/v1/me/payment-methods", "svc_add_payment_method", change, create, api.Created(), api.Extension(),
			own, tag, api.Summary("Add a payment method"), api.Confirm("Rides may be paid with it."),
			api.Text("`token` is what the payment provider's own form returned for the card. A card number is refused, in "+
				"every member: it must never reach this service. The first method becomes the default."), silent),
		api.Patch("/api/v1/me/payment-methods/{id}", "svc_choose_payment_method", change, patch, api.Extension(), own, tag,
			api.Summary("Make a payment method the default"), api.Confirm("Rides are then paid with it."),
			api.Text("The old default stays as a method."), silent),
		api.Delete("/api/v1/me/payment-methods/{id}", "svc_remove_payment_method", change, withdraw, api.Extension(), own,
			tag, api.Summary("Remove a payment method"), api.Confirm("Rides can no longer be paid with it."),
			api.Text("If it was the default, the newest other method becomes the default. The response is the method as it "+
				"was."), silent),
	}
}

// readOwn reads the payment methods of the calling rider while the access checks run.
func readOwn(ctx context.Context, t table.Tenant, p api.Peek) (held, error) {
	return read(ctx, t, p.Actor().Subject)
}

// list returns the payment methods of the calling rider.
func list(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[Method], error) {
	all, err := List(ctx, c.Tenant, c.Actor.Subject)
	if err != nil {
		return nil, err
	}
	return &api.Items[Method]{Items: all}, nil
}

// NewMethod is the request body of a new payment method.
type NewMethod struct {
	Token     string `json:"token" minLength:"1" maxLength:"255" example:"pm_1PqR5sT7uV" doc:"The payment provider's token of the card. It is stored and never shown."`
	Brand     string `json:"brand" minLength:"1" maxLength:"100" example:"visa" doc:"The card's brand."`
	Last4     string `json:"last4" pattern:"^[0-9]{4}$" patternDescription:"four digits" example:"4242" doc:"The card number's last four digits."`
	ExpMonth  int    `json:"expMonth" minimum:"1" maximum:"12" example:"4" doc:"Month in which the card expires."`
	ExpYear   int    `json:"expYear" minimum:"2000" maximum:"2200" example:"2031" doc:"Year in which the card expires."`
	IsDefault *bool  `json:"isDefault,omitempty" default:"false" doc:"Whether it becomes the rider's default."`
}

type createInput struct{ Body NewMethod }

// create adds a payment method, unless its token or brand looks like a card number.
func create(ctx context.Context, c *api.Caller, in *createInput) (*Method, error) {
	b := in.Body
	var wrong fault.Faults
	const message = "looks like a card number; send the token that the payment provider's form returned"
	wrong.Unless(!hasCardNumber(b.Token), "body.token", message)
	wrong.Unless(!hasCardNumber(b.Brand), "body.brand", message)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	m := Method{Type: "CARD", Brand: b.Brand, Last4: b.Last4, ExpMonth: b.ExpMonth, ExpYear: b.ExpYear,
		IsDefault: b.IsDefault != nil && *b.IsDefault}
	have, err := api.EarlyOf[held](ctx, c)
	if err != nil {
		return nil, err
	}
	return answer(add(ctx, c.Tenant, c.By(), c.Actor.Subject, m, b.Token, &have, committed(c)))
}

// hasCardNumber reports whether a text has a run of 12 to 19 digits, perhaps with
// blanks, hyphens or points among them, that has the check digit of a card number
// (Luhn).
func hasCardNumber(text string) bool {
	var digits []int
	luhn := func() bool {
		sum := 0
		for i := range digits {
			d := digits[len(digits)-1-i]
			if i%2 == 1 {
				if d *= 2; d > 9 {
					d -= 9
				}
			}
			sum += d
		}
		return len(digits) >= 12 && len(digits) <= 19 && sum%10 == 0
	}
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits = append(digits, int(r-'0'))
		case r == ' ' || r == '-' || r == '.':
		case luhn():
			return true
		default:
			digits = nil
		}
	}
	return luhn()
}

type patchInput struct {
	ID   string `path:"id" doc:"Identifier of the payment method." example:"pay_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body struct {
		IsDefault bool `json:"isDefault" example:"true" doc:"true. To replace the default, make another method the default."`
	}
}

// patch makes a payment method of the calling rider the default.
func patch(ctx context.Context, c *api.Caller, in *patchInput) (*Method, error) {
	if !in.Body.IsDefault {
		return nil, fault.Field("body.isDefault", "expected true; make another payment method the default instead")
	}
	have, err := api.EarlyOf[held](ctx, c)
	if err != nil {
		return nil, err
	}
	return answer(choose(ctx, c.Tenant, c.By(), c.Actor.Subject, in.ID, &have, committed(c)))
}

type withdrawInput struct {
	ID string `path:"id" doc:"Identifier of the payment method." example:"pay_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// withdraw removes a payment method of the calling rider and returns it.
func withdraw(ctx context.Context, c *api.Caller, in *withdrawInput) (*Method, error) {
	have, err := api.EarlyOf[held](ctx, c)
	if err != nil {
		return nil, err
	}
	return answer(remove(ctx, c.Tenant, c.By(), c.Actor.Subject, in.ID, &have, committed(c)))
}

// committed returns a function that commits a change of a payment method. It also stores the
// response, which is the method, for the request's idempotency key.
func committed(c *api.Caller) commit {
	return func(ctx context.Context, tx *table.Tx, m Method) error { return c.Commit(ctx, tx, &m) }
}

// answer returns the response to a change of a payment method, or its error. The fault of
// a field becomes a fault of the same field of the request's body.
func answer(m Method, err error) (*Method, error) {
	if err != nil {
		return nil, api.InBody(err)
	}
	return &m, nil
}
