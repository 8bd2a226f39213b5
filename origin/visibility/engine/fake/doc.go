// Package fake is an answer engine that invents its answers, for demos, guides and tests.
//
// Input are questions in the shape of the Chat Completions API; output are answers that name given brands at random.
// Every answer, and the name of the model, says that it is invented. All it has of brands are
// their names and domains.
package fake
