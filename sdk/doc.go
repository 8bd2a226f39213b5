// Package sdk holds the clients of the API in TypeScript and Python. The one in Go is package client.
//
// The output is the file of the Python client and the npm package of the TypeScript one, which edges serve
// below /sdk/ and a release contains. Both are made from files of this folder: schema.d.ts and dist are
// generated, and a test compares them with what generates them.
package sdk
