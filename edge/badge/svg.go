package badge

import "github.com/fieldmark/fieldmark"

// AppendSVG appends the pill of b to dst.
func AppendSVG(dst []byte, b Badge, theme Theme) []byte { return dst }

// AppendError appends a pill that says in words why there is no badge.
func AppendError(dst []byte, e *fieldmark.Error, theme Theme) []byte { return dst }
