package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// statement is a text and its arguments.
type statement struct {
	text string
	args []any
	row  bool // it inserts a row, which may go with others of the same text
}

// guard sets the savepoint of the member at work before the first thing that is
// sent for it: what was not sent needs none.
func (g *group) guard() {
	if g.alone || g.safe {
		return
	}
	g.pending = slices.Insert(g.pending, g.own, statement{text: "SAVEPOINT member"})
	g.own++
	g.safe = true
}

// settle leaves nobody at work. What is pending is everybody's, and a savepoint
// that nobody needs is nobody's.
func (g *group) settle() {
	if n := len(g.pending) - 1; n >= 0 && (g.dialect.prepares || n == 0 && g.pending[n].text == "RELEASE member") {
		g.pending = g.pending[:n]
	}
	g.own = len(g.pending)
}

// flush runs what is pending.
func (g *group) flush(ctx context.Context) error {
	if len(g.pending) == 0 {
		return nil
	}
	_, err := g.send(ctx)
	return err
}

func (g *group) run(ctx context.Context, text string) error {
	_, err := g.exec(ctx, text)
	return err
}

// exec runs what is pending and a statement.
func (g *group) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	g.pending = append(g.pending, statement{text: text, args: g.dialect.args(args)})
	return g.send(ctx)
}

// send runs what is pending and returns the result of the last.
func (g *group) send(ctx context.Context) (res sql.Result, err error) {
	steps := g.pending
	others := min(g.own, len(steps)) // which are not of the member at work
	g.pending, g.own = nil, 0
	if g.dialect.prepares {
		for _, s := range steps {
			if res, err = g.step(ctx, s); err != nil {
				return nil, err
			}
		}
		return res, nil
	}
	theirs := g.several.gather(steps[:others])
	all := append(theirs, g.several.gather(steps[others:])...)
	done := 0
	if len(all) == 1 {
		res, err = g.conn.ExecContext(ctx, all[0].text, all[0].args...)
	} else {
		done, res, err = g.together(ctx, all)
	}
	switch {
	case err != nil && done < len(theirs):
		g.lost = err
	case err != nil:
		g.failed = err
	}
	return res, err
}

// step runs one statement, prepared.
func (g *group) step(ctx context.Context, s statement) (sql.Result, error) {
	st, err := g.stmt(ctx, s.text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, s.args...)
}

// stmt prepares a text once for the writing connection.
func (g *group) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := g.prepared[text]; ok {
		return st, nil
	}
	st, err := g.conn.PrepareContext(ctx, text)
	if err == nil {
		g.prepared[text] = st
	}
	return st, err
}

// maxRows bounds the rows of one statement. A server prepares a text for each
// number of rows, so there are few numbers: the powers of two up to this one.
const maxRows = 64

// several makes texts that insert several rows of such that insert one.
type several map[severalOf]string

type severalOf struct {
	text string
	rows int
}

// gather makes few statements of many: rows that are inserted by the same text
// go together, as long as nothing but rows stands between them.
func (t several) gather(steps []statement) []statement {
	var all []statement
	for len(steps) > 0 {
		n := slices.IndexFunc(steps, func(s statement) bool { return !s.row })
		switch n {
		case 0:
			all, steps = append(all, steps[0]), steps[1:]
			continue
		case -1:
			n = len(steps)
		}
		all, steps = t.rows(all, steps[:n]), steps[n:]
	}
	return all
}

// rows appends statements that insert all rows, each text where it came first.
func (t several) rows(all, rows []statement) []statement {
	var texts []string
	byText := make(map[string][]statement)
	for _, r := range rows {
		if byText[r.text] == nil {
			texts = append(texts, r.text)
		}
		byText[r.text] = append(byText[r.text], r)
	}
	for _, text := range texts {
		rest := byText[text]
		for n := maxRows; n > 0; n /= 2 {
			for ; len(rest) >= n; rest = rest[n:] {
				args := make([]any, 0, n*len(rest[0].args))
				for _, r := range rest[:n] {
					args = append(args, r.args...)
				}
				all = append(all, statement{text: t.text(text, n, len(rest[0].args)), args: args})
			}
		}
	}
	return all
}

// text is the text that inserts so many rows of so many arguments.
func (t several) text(one string, rows, args int) string {
	if rows == 1 {
		return one
	}
	key := severalOf{one, rows}
	if many, ok := t[key]; ok {
		return many
	}
	const begins = "VALUES ("
	from := strings.Index(one, begins) + len(begins)
	to := from + strings.IndexByte(one[from:], ')')
	if from < len(begins) || to < from {
		panic(fmt.Sprintf("BUG: %q inserts no row of VALUES", one))
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
