// Package browser opens the pages of package page in a real browser, in its tests, and looks at them: that nothing is
// loaded and nothing complains, that the figures are those of the report, that it fits a phone, can be read in the dark
// and by a screen reader, and that the keyboard reaches what the mouse does. It has no code of its own, and is a module
// of its own so that what drives the browser is no dependency of keywave.
//
//	KEYWAVE_ARTEFACTS=/some/dir go test ./...
//
// leaves screenshots there. The browser is $CHROME or else the first of chromium, chromium-browser, google-chrome and
// chrome that there is; without one the tests fail.
package browser
