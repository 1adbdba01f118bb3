package published

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"svc"
)

// guidesPath is the path below which the guides are served.
const guidesPath = "/docs/guides/"

// guideNames are the guides in the order of the menu: the names of the files in
// docs, and the words of the menu.
var guideNames = [][2]string{{"tutorial", "Tutorial"}, {"integrators", "Integrators"}, {"oauth", "Sign-in"},
	{"requests", "Requests"}, {"errors", "Errors"}, {"events", "Events"}, {"clients", "Clients"}, {"agents", "Agents"},
	{"troubleshooting", "Troubleshooting"}, {"glossary", "Glossary"}}

// guidePolicy lets a guide load only its style sheet and icon. A guide has no script.
const guidePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; " +
	"form-action 'none'"

var guidePage = template.Must(template.New("guide").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="{{.Style}}">
</head>
<body class="guide">
<nav aria-label="Documents"><a href="/docs">Reference</a>
{{range .Menu}}<a href="{{.Path}}"{{if .Here}} aria-current="page"{{end}}>{{.Name}}</a>
{{end}}</nav>
<main>
{{.Body}}</main>
</body>
</html>
`))

// styleOf returns the path of the style sheet among the files, which are by path.
func styleOf(files map[string]file) string {
	for name := range files {
		if strings.HasSuffix(name, ".css") {
			return name
		}
	}
	return ""
}

// guides returns a function for the path of each guide. The function renders the guide at
// its first call. Addresses of the service on a laptop become those of the service at
// baseURL. style is the path of the style sheet.
func guides(baseURL, style string) map[string]func() []byte {
	out := map[string]func() []byte{}
	for _, guide := range guideNames {
		name := guide[0]
		out[guidesPath+name] = sync.OnceValue(func() []byte { return render(name, baseURL, style) })
	}
	return out
}

// render converts a guide to a page. Raw HTML in the document is left out.
func render(name, baseURL, style string) []byte {
	source, err := svc.Guides.ReadFile("docs/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("guide %s: %v", name, err)) // a test renders every guide
	}
	source = bytes.ReplaceAll(source, []byte("http://127.0.0.1:8080"), []byte(baseURL))
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := markdown.Parser().Parse(text.NewReader(source))
	title := relink(doc, source)
	var body, page bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, doc); err != nil {
		panic(fmt.Sprintf("guide %s: %v", name, err))
	}
	// A wide table or block scrolls by itself, also with the keyboard.
	html := strings.NewReplacer("<table>", `<div class="wide" tabindex="0" role="group" aria-label="Table"><table>`,
		"</table>", "</table></div>", "<pre>", `<pre tabindex="0">`).Replace(body.String())
	type entry struct {
		Path, Name string
		Here       bool
	}
	var menu []entry
	for _, guide := range guideNames {
		menu = append(menu, entry{guidesPath + guide[0], guide[1], guide[0] == name})
	}
	err = guidePage.Execute(&page, map[string]any{"Title": title, "Style": style, "Menu": menu,
		"Body": template.HTML(html)}) //nolint:gosec // goldmark's output of our own document, without raw HTML
	if err != nil {
		panic(fmt.Sprintf("guide %s: %v", name, err))
	}
	return page.Bytes()
}

// relink changes the links of a document. A link to a guide becomes the guide's path, a
// link to another file of the repository becomes plain text. relink returns the title,
// the text of the first heading.
func relink(doc ast.Node, source []byte) (title string) {
	var outside []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		if heading, ok := n.(*ast.Heading); ok && title == "" {
			title = string(heading.Lines().Value(source))
		}
		link, ok := n.(*ast.Link)
		if !ok || strings.Contains(string(link.Destination), "://") {
			return ast.WalkContinue, nil
		}
		file, anchor, _ := strings.Cut(string(link.Destination), "#")
		if anchor != "" {
			anchor = "#" + anchor
		}
		name := strings.TrimSuffix(path.Base(file), ".md")
		switch {
		case file == "":
		case file == name+".md" && slices.ContainsFunc(guideNames, func(g [2]string) bool { return g[0] == name }):
			link.Destination = []byte(guidesPath + name + anchor)
		default:
			outside = append(outside, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range outside {
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
	return title
}

// sendGuide serves a guide.
func sendGuide(w http.ResponseWriter, r *http.Request, page []byte) {
	w.Header().Set("Content-Security-Policy", guidePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	send(w, r, "text/html; charset=utf-8", page)
}
