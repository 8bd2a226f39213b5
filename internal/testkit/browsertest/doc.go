// Package browsertest looks at pages as a reader's browser does. It is for tests
// alone: what comes in are an address and a view (width, theme, with or without
// scripts, printed); what goes out is all that is wrong with the page there,
// from errors on the console and broken content security policies to sideways
// scrolling and what axe-core finds serious.
//
// It starts one Chromium per call of Start; a package's tests share it by being
// subtests of one test. It must not know any page.
package browsertest
