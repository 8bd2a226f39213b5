package ranking

import (
	"encoding/json"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// AppendBatch appends a fieldmark.ScoreBatch about brands, which are valid slugs, and reads
// nothing but the ranking. It allocates the list of rows, for names with characters that JSON
// escapes, and for the first batch with a niche.
func (s *Snapshot) AppendBatch(dst []byte, brands []fieldmark.Slug, event int64) []byte {
	dst = append(dst, `{"items":[`...)
	var unknown []fieldmark.Slug
	first := true
	// All rows are found first: then the processor waits for the memory of several at once.
	rows := make([]*Row, len(brands))
	for i, slug := range brands {
		rows[i] = s.Row(slug)
	}
	for i, r := range rows {
		slug := brands[i]
		if r == nil {
			unknown = append(unknown, slug)
			continue
		}
		to := r
		if r.IsAlias() {
			if to = s.Row(r.Target()); to == nil { // the brand goes and its aliases are about to
				unknown = append(unknown, slug)
				continue
			}
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = s.appendItem(dst, r, to)
	}
	dst = append(dst, `],"unknown":[`...)
	for i, slug := range unknown {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), slug...), '"')
	}
	dst = append(dst, `],"event":`...)
	dst = strconv.AppendInt(dst, event, 10)
	m := &s.Method.Module
	dst = appendText(dst, `,"module":{"name":`, m.Name)
	dst = appendText(dst, `,"version":`, m.Version)
	dst = appendText(dst, `,"digest":`, string(m.Digest))
	return append(dst, "}}\n"...)
}

// appendItem appends the item of r, which is that of the brand of or an alias of it.
func (s *Snapshot) appendItem(dst []byte, r, of *Row) []byte {
	dst = appendPlain(dst, `{"slug":`, string(r.slug))
	if r != of {
		dst = appendPlain(dst, `,"to":`, string(of.slug))
	}
	if of.Listed() {
		if of.name != "" {
			dst = appendText(dst, `,"name":`, of.name)
		}
		if of.niche != "" {
			dst = appendPlain(dst, `,"niche":`, of.niche)
		}
		if of.language != "" {
			dst = appendPlain(dst, `,"language":`, of.language)
		}
	}
	dst = appendPlain(dst, `,"status":`, string(of.status))
	if at := &of.ratings[readiness]; of.scored {
		dst = fieldmark.Milli(at.score).Append(append(dst, `,"score":`...))
		dst = appendPlain(dst, `,"grade":`, string(scoring.GradeOf(fieldmark.Milli(at.low))))
		dst = fieldmark.Milli(at.low).Append(append(dst, `,"range":{"low":`...))
		dst = fieldmark.Milli(at.high).Append(append(dst, `,"high":`...))
		dst = appendPlain(dst, `},"confidence":`, string(scoring.LevelOf(of.certainty)))
	} else {
		dst = append(dst, `,"score":null,"range":null`...)
	}
	dst = strconv.AppendBool(append(dst, `,"geoReady":`...), of.geoReady)
	if dst = append(dst, `,"full":`...); of.full {
		dst = fieldmark.Milli(of.ratings[fullScore].score).Append(dst)
	} else {
		dst = append(dst, "null"...)
	}
	if dst = append(dst, `,"asOf":`...); of.asOf != 0 {
		dst = fieldmark.AtMicros(of.asOf).Append(append(dst, '"'))
		dst = append(dst, '"')
	} else {
		dst = append(dst, "null"...)
	}
	return append(s.appendRank(append(dst, `,"rank":`...), of), '}')
}

// appendRank appends the fieldmark.Rank of a brand, or null.
func (s *Snapshot) appendRank(dst []byte, r *Row) []byte {
	if !r.ranked {
		return append(dst, "null"...)
	}
	at := r.ratings[readiness].span
	all := s.byBasis[readiness].all
	niche := s.byBasis[readiness].niches[r.niche]
	best, last, of := all.rank(at)
	bestNiche, lastNiche, ofNiche := niche.rank(at)
	dst = strconv.AppendInt(append(dst, `{"overall":`...), int64(best), 10)
	dst = strconv.AppendInt(append(dst, `,"overallLast":`...), int64(last), 10)
	dst = strconv.AppendInt(append(dst, `,"of":`...), int64(of), 10)
	dst = strconv.AppendInt(append(dst, `,"niche":`...), int64(bestNiche), 10)
	dst = strconv.AppendInt(append(dst, `,"nicheLast":`...), int64(lastNiche), 10)
	dst = strconv.AppendInt(append(dst, `,"ofNiche":`...), int64(ofNiche), 10)
	return append(dst, '}')
}

// plainBytes are those that a JSON string has as they are, also within HTML.
var plainBytes = func() (plain [256]bool) {
	for c := byte(' '); c <= '~'; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()

// appendText appends the beginning of a member and a JSON string.
func appendText(dst []byte, member, text string) []byte {
	for i := range len(text) {
		if !plainBytes[text[i]] {
			dst = append(dst, member...)
			quoted, err := json.Marshal(text)
			if err != nil {
				panic("BUG: a string that cannot be encoded: " + err.Error())
			}
			return append(dst, quoted...)
		}
	}
	return appendPlain(dst, member, text)
}

// appendPlain is appendText for a text of plain bytes, such as a slug.
func appendPlain(dst []byte, member, text string) []byte {
	dst = append(append(dst, member...), '"')
	return append(append(dst, text...), '"')
}
