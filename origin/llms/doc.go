// Package llms reads and writes llms.txt, the Markdown file in which a site
// tells language models what it is.
//
// Into Lint come the bytes of somebody's file; out goes a Report, which grades
// the file and lists what is wrong with it, and where. Into Generate come a
// brand's own words; out goes a Document whose file every known parser accepts.
// Both are pure: the same input gives the same bytes under one TemplateVersion.
//
// The package must not know where a file came from (no network, no status, no
// header), who asked for one, or what a level is worth in a score.
package llms
