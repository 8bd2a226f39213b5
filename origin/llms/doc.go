// Package llms reads and writes llms.txt, the Markdown file in which a site describes
// itself to language models.
//
// Lint takes the content of any file and returns a Report, which grades the file and
// lists its issues with their places. Generate takes a brand's description of itself
// and returns a Document whose file every known parser accepts. Both are pure: the
// same input gives the same bytes under one TemplateVersion.
//
// The package must not know where a file came from (network, status or header), who
// requests one, or what a level is worth in a score.
package llms
