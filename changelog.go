package fieldmark

import (
	_ "embed" // for the changelog
)

//go:embed CHANGELOG.md
var changelog string

// Changelog returns the changes of every version in Markdown, newest first.
func Changelog() string { return changelog }
