// Package sdktest plays scenarios with the clients of the API in Go, TypeScript and Python.
//
// A scenario is a JSON file in sdk/testdata: calls with their arguments and the results or errors that are
// expected, in which $name is a variable. Each language has a player, which uses only its client. The tools for
// agents are called by third-party programs (see Agents).
package sdktest
