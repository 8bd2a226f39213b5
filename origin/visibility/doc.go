// Package visibility stores studies of answers, their results and their changes.
//
// Input are checked documents of form 2. Output are results in the database, and events of the brands
// that they are about. The package queries no answer engine, and does not know HTTP.
package visibility
