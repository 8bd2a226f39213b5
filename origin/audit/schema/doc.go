// Package schema reads structured data of pages, JSON-LD and microdata, in the schema.org
// vocabulary, and has a table of its types.
//
// It must not know what a thing says about a site.
package schema
