package audit

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// minDrawn is the number of drawn pages from which their variation can be estimated.
const minDrawn = 2

// largeFrame is how many times as many pages as were read a site has at least if it has more
// sitemaps than were read: its size is not known, and the share read is negligible.
const largeFrame = 100

// replicates recomputes the facts of pages on bootstrap samples of the drawn pages, to
// estimate how much they depend on the draw. Pages that are always read are in every sample.
// base are the facts of the sample itself. It returns nil if every known page was requested
// or too few were read.
//
// Sampling without replacement is repeated as it was done (Booth, Butler and Hall,
// Bootstrap methods for finite populations, 1994): each drawn page represents an equal
// number of pages of the site, and from these the same number is drawn again. A sample of
// nearly all pages then varies little.
func (f *site) replicates(base findings) *fieldmark.Replicates {
	fixed := slices.IndexFunc(f.sample, func(s sampled) bool { return s.role == fieldmark.PageDrawn })
	if f.seed == "" || fixed < 0 {
		return nil
	}
	drawn := f.sample[fixed:]
	read := len(pagesOf(drawn))
	if read < minDrawn {
		return nil
	}
	frame := f.population - fixed
	if f.sitemap.drawn {
		frame = max(frame, largeFrame*len(drawn))
	}
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte("replicates " + f.seed))))
	samples := make([]findings, fieldmark.MaxReplicates)
	for i := range samples {
		r := *f
		r.replicate = i + 1
		r.sample = slices.Clone(f.sample[:fixed])
		for _, at := range resample(random, len(drawn), frame) {
			r.sample = append(r.sample, drawn[at])
		}
		r.pages = pagesOf(r.sample)
		samples[i] = newFindings()
		r.pageFacts(samples[i])
		// The bootstrap does not work for extremes (Bickel and Freedman 1981); with fewer
		// values, here half, it does.
		r.pages = pagesOf(r.sample[:fixed+len(drawn)/2])
		evidenceFacts{&r}.newest(samples[i])
		if r.replicate%2 == 1 {
			reflect(samples[i].fact("fresh.age"), base.fact("fresh.age"))
		}
	}
	return tabulate(base, samples, read)
}

// minShare is the number of pages from which a sample gives a share of those that qualify,
// such as the pages with a date. Of three pages, any share is a matter of luck.
const minShare = 5

// shareOfSome records a share of those pages that qualify. Of a drawn sample, it is unknown if
// they are few.
//
// Each replicate has one page more, which counts in half of them, chosen by a bit of their
// number: if none of five pages counts, none of any resample does, and yet some of five others
// may (compare Agresti and Coull 1998, who add two of each kind).
func (f *site) shareOfSome(found findings, id string, good, all, bit int, seen ...fieldmark.Evidence) {
	if f.seed != "" && all < minShare {
		found.unknown(id, seen...)
		return
	}
	if f.replicate > 0 {
		good, all = good+f.replicate>>bit&1, all+1
	}
	found.setShare(id, good, all, seen...)
}

// resample draws n indexes without replacement from a frame in which each of n indexes occurs
// equally often; a remainder is distributed at random.
func resample(random *rand.Rand, n, size int) []int {
	frame := make([]int, 0, size)
	for len(frame)+n <= size {
		for i := range n {
			frame = append(frame, i)
		}
	}
	frame = append(frame, random.Perm(n)[:size-len(frame)]...)
	for i := range n {
		j := i + random.IntN(len(frame)-i)
		frame[i], frame[j] = frame[j], frame[i]
	}
	return frame[:n]
}

// reflect replaces a value that is higher than that of the sample by one that is as much
// lower. The lowest value of a resample is never lower than that of the sample, but the
// lowest of another sample is lower as often as it is higher.
func reflect(fact, base *fieldmark.Fact) {
	if fact.State == fieldmark.Measured && base.State == fieldmark.Measured {
		fact.Value = max(0, 2*base.Value-fact.Value)
	}
}

// tabulate lists the values of the facts that pageFacts computes and that vary.
func tabulate(base findings, samples []findings, drawn int) *fieldmark.Replicates {
	r := &fieldmark.Replicates{Drawn: drawn, Facts: []string{}, Values: make([][]*fieldmark.Milli, len(samples))}
	for _, v := range vocabulary {
		varies := func(s findings) bool {
			fact := s[v.id]
			return len(fact.Evidence) > 0 && (fact.State != base[v.id].State || fact.Value != base[v.id].Value)
		}
		if !slices.ContainsFunc(samples, varies) {
			continue
		}
		r.Facts = append(r.Facts, v.id)
		for i, s := range samples {
			var value *fieldmark.Milli
			if s[v.id].State == fieldmark.Measured {
				m := fieldmark.Milli(s[v.id].Value)
				value = &m
			}
			r.Values[i] = append(r.Values[i], value)
		}
	}
	return r
}
