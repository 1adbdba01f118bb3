// Package browser tests the authorization server's pages in Chromium. It checks
// accessibility with axe-core and Lighthouse, light and dark, on a phone and on
// a desktop, by keyboard only and without script.
//
// The browser is the one that CHROME names, or the first that exists of
// chromium, chromium-browser, google-chrome and google-chrome-stable. With
// -screenshots the tests rewrite the pictures under docs/screenshots.
package browser
