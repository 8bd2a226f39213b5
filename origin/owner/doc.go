// Package owner serves the pages of brand owners: what to fix first, history, disputes, embed
// codes, notifications, webhooks, the claim and the profile of the brands that an account
// manages.
//
// Requests come from a browser with a session cookie, which a key with the scope brand:manage
// begins. Pages work without JavaScript. A handler decodes a form, makes one call of the
// origin's services, and shows a page or redirects to one.
//
// The package must not know a rule of the product, SQL, or the JSON API.
package owner
