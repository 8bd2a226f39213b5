// Package mcp serves the Model Context Protocol at one address of the edge, so that agents can
// read scores and handle missions as tools.
//
// It speaks the stateless revision 2026-07-28 and, for older clients, the revisions 2025-03-26
// to 2025-11-25 without sessions. Every answer is one JSON document: nothing is streamed, no
// state is kept between requests, and the server never sends requests.
//
// The package does not read brands or missions itself: a Host, which the edge implements with
// the functions behind its HTTP endpoints, does. What people outside wrote (names of brands,
// words of their pages, texts of missions) leaves the package only as cleaned and bounded
// strings in members that are marked as foreign; see Clean and Document.
package mcp
