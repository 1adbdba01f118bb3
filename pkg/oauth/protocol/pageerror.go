package protocol

import "svc/pkg/domain/page"

// PageError is an error that only the person sees, on a page. The client gets no
// response, for example because its redirect URI is not registered (RFC 6749
// section 4.1.2.1).
type PageError struct {
	Status int
	Kind   string // kind of page.Message, such as "request"
	Detail string
	Brand  page.Brand
	Again  string // address where the person can continue, or ""
	SignIn string // address of the sign-in page, or ""
}

// Error implements error.
func (e *PageError) Error() string { return e.Kind + ": " + e.Detail }

// RefuseOnPage returns the error of a bad request that only the person sees.
func RefuseOnPage(kind, detail string) *PageError {
	return &PageError{Status: 400, Kind: kind, Detail: detail}
}
