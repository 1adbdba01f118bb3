// Package browser tests the authorization server's pages in a real browser: in
// Chromium, with axe-core and Lighthouse for accessibility, light and dark, on
// a phone and on a desktop, by keyboard alone and without script.
//
// The browser is the first of chromium, chromium-browser, google-chrome and
// google-chrome-stable that there is, or what CHROME names. With -screenshots
// the tests write the pictures under docs/screenshots anew.
package browser
