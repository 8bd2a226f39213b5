// Package browsertest checks pages in a real browser, for tests only. Input: an address
// and a view (width, theme, with or without scripts, printed). Output: everything that
// is wrong with the page in that view, from console errors and violations of the
// content security policy to horizontal overflow and the findings of axe-core.
//
// Each call of Start starts one Chromium; the tests of a package share it as subtests
// of one test. The package must not depend on any page.
package browsertest
