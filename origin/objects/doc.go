// Package objects keeps large immutable contents outside of the database: in a folder or in an
// S3 bucket.
//
// Input: a key and bytes, which are written once. Output: the bytes of a key, and the list of
// keys. The package neither interprets the bytes nor decides who may read them; callers encrypt
// what is confidential.
package objects
