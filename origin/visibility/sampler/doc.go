// Package sampler asks the questions of a plan over days, and counts the answers.
//
// Input are a checked plan and its engines. Output are files in one folder: a journal of every call, the answers
// as received, and documents of form 2 with counts only. Whatever instant the process is killed at, no question
// is asked again that may have been asked, and the sum of costs never exceeds the budget by the prices of the plan.
// The package calls no server: documents are sent by its caller.
package sampler
