package commit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRows bounds the rows of one statement. A server prepares a statement for
// each number of rows, so only few numbers are used: the powers of two up to this.
const maxRows = 64

// multiInsert caches the texts that insert several rows.
type multiInsert map[multiInsertKey]string

type multiInsertKey struct {
	text string // that inserts one row
	rows int
}

// merge combines inserts with the same text, as long as only inserts are between
// them.
func (t multiInsert) merge(all []Statement) []Statement {
	var merged []Statement
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s Statement) bool { return !s.insert })
		switch n {
		case 0:
			merged, all = append(merged, all[0]), all[1:]
			continue
		case -1:
			n = len(all)
		}
		merged, all = t.appendInserts(merged, all[:n]), all[n:]
	}
	return merged
}

// appendInserts appends statements that insert all rows, each text at the place
// where it came first.
func (t multiInsert) appendInserts(merged, rows []Statement) []Statement {
	var texts []string
	byText := make(map[string][]Statement)
	for _, r := range rows {
		if byText[r.Text] == nil {
			texts = append(texts, r.Text)
		}
		byText[r.Text] = append(byText[r.Text], r)
	}
	for _, text := range texts {
		rest := byText[text]
		for n := maxRows; n > 0; n /= 2 {
			for ; len(rest) >= n; rest = rest[n:] {
				args := make([]any, 0, n*len(rest[0].Args))
				for _, r := range rest[:n] {
					args = append(args, r.Args...)
				}
				merged = append(merged, Statement{Text: t.text(text, n, len(rest[0].Args)), Args: args})
			}
		}
	}
	return merged
}

// text returns the text that inserts a number of rows of a number of arguments.
func (t multiInsert) text(one string, rows, args int) string {
	if rows == 1 {
		return one
	}
	key := multiInsertKey{one, rows}
	if many, ok := t[key]; ok {
		return many
	}
	const begins = "VALUES ("
	from := strings.Index(one, begins) + len(begins)
	to := from + strings.IndexByte(one[from:], ')')
	if from < len(begins) || to < from {
		panic(fmt.Sprintf("BUG: %q does not insert a row of VALUES", one))
	}
	row := strings.Split(one[from:to], "$")
	var many strings.Builder
	many.WriteString(one[:from])
	for r := range rows {
		if r > 0 {
			many.WriteString("), (")
		}
		many.WriteString(row[0])
		for _, part := range row[1:] {
			end := strings.IndexFunc(part, func(c rune) bool { return c < '0' || c > '9' })
			if end < 0 {
				end = len(part)
			}
			n, _ := strconv.Atoi(part[:end]) // digits
			many.WriteString("$" + strconv.Itoa(r*args+n) + part[end:])
		}
	}
	many.WriteString(one[to:])
	t[key] = many.String()
	return t[key]
}
