// Package observe reads what a site states for machines beside its pages: preferences about the use of
// its content (Content-Signal, Content-Usage, TDMRep, RSL) and documents for agents (server cards,
// agent cards, key directories, catalogues of APIs).
//
// Input: a robots.txt, a header field or the body of a response. Output: what it states, or that it
// is no such document. All functions are pure, take at most the sizes below, and treat their input
// as hostile. The package must not fetch anything and must not know what a statement is worth.
package observe
