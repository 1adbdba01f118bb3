package flow

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Browser does what a person with a browser does: it follows redirects, fills
// in the server's forms, and keeps the server's cookies.
type Browser struct {
	o      Options
	client *http.Client
}

// steps is the maximum number of pages and redirects of one authorization.
const steps = 16

// pageLimit is the maximum number of bytes read of a page.
const pageLimit = 1 << 20

// Authorize sends the authorization request and continues until the server
// redirects to the query's redirect_uri. It returns the parameters of that
// redirect.
func (b *Browser) Authorize(ctx context.Context, query url.Values) (url.Values, error) {
	target := query.Get("redirect_uri")
	res, at, err := b.Get(ctx, b.o.BaseURL+"/oauth/authorize?"+query.Encode())
	attempted := false
	for range steps {
		if err != nil {
			return nil, err
		}
		if location := res.leads(); location != "" {
			next, parseErr := at.Parse(location)
			if parseErr != nil {
				return nil, fmt.Errorf("redirect to %q: %w", location, parseErr)
			}
			if before, params, _ := strings.Cut(next.String(), "?"); before == target || strings.HasPrefix(next.String(), target+
				"&") {
				return url.ParseQuery(params)
			}
			res, at, err = b.Get(ctx, next.String())
			continue
		}
		form, ok := findForm(res.Body)
		if !ok || res.StatusCode >= http.StatusInternalServerError || (attempted && form.asks("password")) {
			return nil, &Page{Status: res.StatusCode, Text: visibleText(res.Body)}
		}
		attempted = attempted || form.asks("password")
		values, fillErr := form.fill(b.o)
		if fillErr != nil {
			return nil, fillErr
		}
		res, at, err = b.submit(ctx, at, form, values)
	}
	return nil, fmt.Errorf("the authorization did not end after %d pages and redirects", steps)
}

// Response is a response with its body read.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// leads returns the address to which the response sends a browser, by a
// redirect or by a page that navigates by itself. It returns "" if the response
// does neither.
func (r Response) leads() string {
	if location := r.Header.Get("Location"); location != "" {
		return location
	}
	_, location, _ := strings.Cut(r.Header.Get("Refresh"), "url=")
	return location
}

// Get fetches an address and follows no redirect.
func (b *Browser) Get(ctx context.Context, address string) (Response, *url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Response{}, nil, fmt.Errorf("address %q: %w", address, err)
	}
	return b.do(req)
}

// Post sends a form and follows no redirect.
func (b *Browser) Post(ctx context.Context, address string, values url.Values) (Response, *url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(values.Encode()))
	if err != nil {
		return Response{}, nil, fmt.Errorf("address %q: %w", address, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(req)
}

// Fill opens a page, sets values in its form and sends the form. It follows no
// redirect. The error is a *Page if the page has no form.
func (b *Browser) Fill(ctx context.Context, address string, values url.Values) (Response, *url.URL, error) {
	res, at, err := b.Get(ctx, address)
	if err != nil {
		return Response{}, nil, err
	}
	form, ok := findForm(res.Body)
	if !ok {
		return Response{}, nil, &Page{Status: res.StatusCode, Text: visibleText(res.Body)}
	}
	maps.Copy(form.inputs, values)
	return b.submit(ctx, at, form, form.inputs)
}

// submit posts a form to its own origin only, because it may contain a
// password.
func (b *Browser) submit(ctx context.Context, page *url.URL, form form, values url.Values) (Response, *url.URL, error) {
	to, err := page.Parse(form.action)
	if err != nil {
		return Response{}, nil, fmt.Errorf("a form is sent to %q: %w", form.action, err)
	}
	if to.Scheme != page.Scheme || to.Host != page.Host {
		return Response{}, nil, fmt.Errorf("a form of %s is sent to %s; expected the same origin", page.Host, to.Host)
	}
	return b.Post(ctx, to.String(), values)
}

// do sends the request. It returns the response and the request's address, against which
// the links of the page are resolved.
func (b *Browser) do(req *http.Request) (Response, *url.URL, error) {
	res, err := b.client.Do(req)
	if err != nil {
		return Response{}, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, pageLimit))
	if err != nil {
		return Response{}, nil, fmt.Errorf("reading a page: %w", err)
	}
	return Response{StatusCode: res.StatusCode, Header: res.Header, Body: string(body)}, req.URL, nil
}

// form is one form of a page: its inputs with their values, hidden ones
// included, and the values that its named buttons send.
type form struct {
	action  string
	inputs  url.Values
	buttons url.Values
}

// asks reports whether the form has an input or a button with the name.
func (f form) asks(name string) bool { return f.inputs.Has(name) || f.buttons.Has(name) }

// fill returns the values that a person who wants to continue sends.
func (f form) fill(o Options) (url.Values, error) {
	values := url.Values{}
	for name, value := range f.inputs {
		values[name] = value
	}
	switch {
	case f.asks("password"):
		values.Set("email", o.Email)
		values.Set("password", o.Password)
	case f.asks("tenant"):
		choices := f.buttons["tenant"]
		if slices.Contains(choices, o.Tenant) {
			choices = []string{o.Tenant}
		}
		if len(choices) != 1 {
			return nil, fmt.Errorf("the person has memberships in %s: name the tenant", strings.Join(choices, ", "))
		}
		values.Set("tenant", choices[0])
	case f.asks("decision"):
		values.Set("decision", "allow")
	default:
		return nil, fmt.Errorf("the form is unknown: it asks for none of password, tenant and decision")
	}
	return values, nil
}

// findForm returns the first form of the page whose method is POST.
func findForm(page string) (form, bool) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return form{}, false
	}
	for node := range root.Descendants() {
		if node.DataAtom == atom.Form && strings.EqualFold(attribute(node, "method"), http.MethodPost) {
			return readForm(node), true
		}
	}
	return form{}, false
}

// readForm returns the form of a form element.
func readForm(node *html.Node) form {
	f := form{action: attribute(node, "action"), inputs: url.Values{}, buttons: url.Values{}}
	for field := range node.Descendants() {
		name, value := attribute(field, "name"), attribute(field, "value")
		switch {
		case name == "":
		case field.DataAtom == atom.Input:
			f.inputs.Add(name, value)
		case field.DataAtom == atom.Button:
			f.buttons.Add(name, value)
		}
	}
	return f
}

// attribute returns the value of an attribute of the element, or "".
func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// visibleText returns the text of a page's alert if there is one, else of its main part.
// For a page without either, it returns the body with its markup.
func visibleText(page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return ""
	}
	for _, matches := range []func(*html.Node) bool{
		func(n *html.Node) bool { return attribute(n, "role") == "alert" },
		func(n *html.Node) bool { return n.DataAtom == atom.Main },
	} {
		for node := range root.Descendants() {
			if matches(node) {
				return words(node)
			}
		}
	}
	return strings.TrimSpace(page)
}

// words returns the words of a node's text, separated by blanks.
func words(node *html.Node) string {
	var out []string
	for inner := range node.Descendants() {
		if inner.Type == html.TextNode && inner.Parent.DataAtom != atom.Style {
			out = append(out, strings.Fields(inner.Data)...)
		}
	}
	return strings.Join(out, " ")
}
