// Package dump publishes the scores of all listed brands once a day, as a file of lines of JSON and a file
// of CSV, both compressed by Zstandard.
//
// Input: the standings in the database. Output: files in the store of objects, their list, and their
// contents. The package computes no scores, and does not know HTTP.
package dump
