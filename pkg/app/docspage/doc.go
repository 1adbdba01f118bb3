// Package docspage tests the reference page at /docs in Chromium, on the running
// service. The browser is the one that CHROME names, or the first that exists of
// chromium, chromium-browser, google-chrome and google-chrome-stable.
package docspage
