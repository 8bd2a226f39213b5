// Package sampling has the commands that send questions to answer engines from the machine of an operator: sample,
// status, review, grade, export, verify, prune and the fake engine. They need no server.
package sampling
