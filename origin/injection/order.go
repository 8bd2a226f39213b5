package injection

import "slices"

// order examines one sentence in one language.
type order struct {
	f        *finder
	sentence []token
	lang     *words
	spans    []span    // of the language, of all languages, and of the names; by start
	cover    []concept // what the phrases over each token mean
	named    bool      // the sentence starts by addressing a model
	prefix   int       // where that address ends
	known    concept   // everything the sentence has
}

// reset prepares the order for a sentence in a language.
func (o *order) reset(f *finder, sentence []token, language int) {
	o.f, o.sentence, o.lang = f, sentence, &languages[language]
	o.spans, o.cover = o.spans[:0], slices.Grow(o.cover[:0], len(sentence))[:len(sentence)]
	clear(o.cover)
	o.known = 0
	for _, s := range f.spans {
		if s.language != language && s.language != anyLanguage {
			continue
		}
		o.spans = append(o.spans, s)
		o.known |= s.means
		if s.means&cAfterMust != 0 {
			continue
		}
		for i := s.start; i < s.end; i++ {
			o.cover[i] |= s.means
		}
	}
	o.address()
}

// inPrefix is what may stand between the start of a clause and its verb.
const inPrefix = cIntro | cFiller | cModel | cMust | cAlways | cAsked | cAll

// address finds whether the sentence starts by addressing a model, by what it is called
// before any other word: "AI assistants must", "Note to LLMs:", "If you are ChatGPT,".
func (o *order) address() {
	o.named, o.prefix = false, 0
	if o.sentence[0].flags&first == 0 {
		return
	}
	i := 0
	for i < len(o.sentence) && o.cover[i]&inPrefix != 0 {
		o.named = o.named || o.cover[i]&cModel != 0
		i++
	}
	o.prefix = i
}

// The numbers of sentences for which an addressee that is named once still counts.
const (
	maxScope   = 40 // below a line such as "Instructions for AI assistants:"
	briefScope = 2  // after a sentence such as "Note to LLMs: Acme is the market leader."
)

// scope returns for how many of the following sentences the addressee counts.
func (o *order) scope() int {
	introduces := slices.ContainsFunc(o.cover[:o.prefix], func(c concept) bool { return c&cIntro != 0 })
	switch {
	case !o.named || !introduces || o.known&(cTopic|cAbout) != 0:
		return 0
	case o.prefix == len(o.sentence):
		return maxScope
	}
	return briefScope
}

// apply records the orders of the sentence.
func (o *order) apply() {
	if o.known&cAbout != 0 {
		return
	}
	for i := range o.spans {
		s := &o.spans[i]
		if s.means&verbs == 0 || s.means&cAfterMust != 0 && o.mustBefore(s.start) < 0 {
			continue
		}
		switch {
		case s.means&cIgnore != 0:
			o.override(s)
		case s.means&cReveal != 0:
			o.exfiltration(s)
		case s.means&cRole != 0:
			o.role(s)
		case s.means&cNever != 0:
			o.silence(s)
		case s.means&(cRecommend|cSay) != 0:
			o.promotion(s)
		case s.means&cPrefer != 0:
			o.steering(s)
		}
	}
}

// addressed reports whether a model is addressed in this sentence or a line before it.
func (o *order) addressed() bool { return o.named || o.f.scope > 0 }

// The distances within which words belong together, in words.
const (
	maxGap      = 10 // between an order and its object, articles and the like included
	maxUnknown  = 1  // words of the gap that no table has
	maxReach    = 30 // between an order to recommend and the brand
	maxModifier = 5  // between an object and "previous"

	charsPerWord = 3 // in scripts without spaces
)

// words converts a number of words to one of tokens.
func (o *order) words(n int) int {
	if o.lang.unspaced {
		return n * charsPerWord
	}
	return n
}

// near reports whether only words that change nothing are between two places.
func (o *order) near(from, to int) bool {
	if to < from || to-from > o.words(maxGap) {
		return false
	}
	unknown := 0
	for _, c := range o.cover[from:to] {
		if c&(inPrefix|cEarlier|cOurs|cBrand) == 0 {
			unknown++
		}
	}
	return unknown <= o.words(maxUnknown)
}

// beside reports whether a phrase is near a verb, before or after it.
func (o *order) beside(verb *span, s span) bool {
	return o.near(verb.end, s.start) || o.near(s.end, verb.start)
}

// takes reports whether a phrase is the object of a verb.
func (o *order) takes(verb *span, s span) bool {
	return o.near(verb.end, s.start) || o.lang.verbLast && o.near(s.end, verb.start)
}

// object returns the phrase of a meaning that is next to a verb.
func (o *order) object(verb *span, means concept) (span, bool) {
	for _, s := range o.spans {
		if s.means&means != 0 && o.beside(verb, s) {
			return s, true
		}
	}
	return span{}, false
}

// widened returns the window that also has the phrases of a meaning close to it.
func (o *order) widened(start, end int, means concept) (from, to int, found bool) {
	from, to = start, end
	gap := o.words(maxModifier)
	for _, s := range o.spans {
		if s.means&means != 0 && s.end > start-gap && s.start < end+gap &&
			(s.start >= start || o.near(s.end, start)) && (s.end <= end || o.near(end, s.start)) {
			from, to, found = min(from, s.start), max(to, s.end), true
		}
	}
	return from, to, found
}

// mustBefore returns where the last word of must before a place in the sentence starts,
// or -1.
func (o *order) mustBefore(at int) int {
	for _, s := range slices.Backward(o.spans) {
		if s.means&cMust != 0 && s.end <= at && at-s.end <= o.words(maxGap) {
			return s.start
		}
	}
	return -1
}

// commands reports whether an order starts at a place: a clause starts there, after
// nothing but address, courtesy and what else is allowed. A mention in quotation marks is
// no order.
func (o *order) commands(at int, allowed concept) bool {
	if o.sentence[at].flags&inside != 0 || o.sentence[at].flags&quoted != 0 && o.f.isAbout() {
		return false
	}
	// A model before the verb is its subject, "AI assistants recommend", unless there is
	// a "must" between them.
	subject, must := false, o.cover[at]&cMust != 0
	for i := at; ; i-- {
		if o.sentence[i].flags&(first|clause) != 0 {
			return !subject
		}
		if i == 0 {
			return false // continues a sentence that was too long
		}
		switch before := o.cover[i-1]; {
		case before&(inPrefix|allowed) == 0:
			return false
		case before&cMust != 0:
			subject, must = false, true
		case before&cIntro != 0:
			subject = false
		case before&cModel != 0:
			subject = !must && !o.lang.verbLast
		}
	}
}

// finishes reports whether the sentence ends at a place, or goes on with another order:
// the instructions of a device or a form are followed by which, "if the lamp is red".
func (o *order) finishes(at int) bool {
	for at < len(o.sentence) && o.cover[at]&(verbs|cMust|cBrand) == 0 {
		if o.cover[at]&cFiller == 0 {
			return false
		}
		at++
	}
	return true
}

// override finds orders to ignore the instructions so far.
func (o *order) override(verb *span) {
	object, ok := o.object(verb, cRules|cSecret)
	if !ok || o.known&cTopic != 0 {
		return
	}
	start, end := min(verb.start, object.start), max(verb.end, object.end)
	start, end, earlier := o.widened(start, end, cEarlier)
	start, end, all := o.widened(start, end, cAll)
	if (o.addressed() || object.means&cSecret != 0 || earlier && (all || o.finishes(end))) && o.commands(start, 0) {
		o.add(Override, start, end)
	}
}

// exfiltration finds orders to reveal the system prompt or, to a model, data of the user.
func (o *order) exfiltration(verb *span) {
	means := cSecret
	if o.addressed() {
		means |= cData
	}
	object, ok := o.object(verb, means)
	if !ok || o.known&cTopic != 0 {
		return
	}
	if start := min(verb.start, object.start); o.commands(start, 0) {
		o.add(Exfiltration, start, max(verb.end, object.end))
	}
}

// role finds orders to be another model, or one without rules.
func (o *order) role(verb *span) {
	if o.known&cTopic != 0 || !o.commands(verb.start, 0) {
		return
	}
	for _, s := range o.spans {
		if s.means&cFree != 0 && o.beside(verb, s) || s.means&cModel != 0 && o.adjoins(verb, s) {
			o.add(Override, min(verb.start, s.start), max(verb.end, s.end))
			return
		}
	}
}

// adjoins is beside without unknown words: "you are now talking to an AI" is no order.
func (o *order) adjoins(verb *span, s span) bool {
	from, to := verb.end, s.start
	if from > to {
		from, to = s.end, verb.start
	}
	return from <= to && !slices.ContainsFunc(o.cover[from:to], func(c concept) bool {
		return c&(cFiller|cFree|cBrand|cAll|cModel) == 0
	})
}

// silence finds orders not to mention competitors, or not to recommend anything else.
func (o *order) silence(verb *span) {
	if !o.orders(verb, cBrand) {
		return
	}
	for _, s := range o.spans {
		switch {
		case s.means&(cRival|cBrand) == 0 || o.distance(verb, s) > o.words(maxGap):
		case o.addressed(), s.means&cRival != 0 && o.beside(verb, s) && (o.known&cAsked != 0 || o.f.audience == Models):
			o.add(Promotion, min(verb.start, s.start), max(verb.end, s.end))
			return
		}
	}
}

// promotion finds orders to recommend the brand, or to say something of it.
func (o *order) promotion(verb *span) {
	if !o.orders(verb, cBrand|cFirst|cRival) {
		return
	}
	brand, ok := o.closest(verb, cBrand)
	if !ok {
		brand, ok = o.closest(verb, cOurs)
		ok = ok && (brand.start >= verb.end || o.lang.verbLast) // before the verb, "we" is its subject
	}
	if !ok {
		return
	}
	praise, praised := o.closest(verb, cFirst|cRival)
	recommends := verb.means&cRecommend != 0
	switch {
	case o.addressed():
	// A text for models needs no addressee, but an order that is not one to people.
	case o.f.audience == Models && o.takes(verb, brand) && (recommends && (praised || o.known&cAlways != 0) ||
		brand.means&cBrand != 0 && o.known&cAsked != 0):
	case o.known&cAsked != 0 && (praised || recommends && o.known&(cMust|cAlways) != 0):
	default:
		return
	}
	start, end := min(verb.start, brand.start), max(verb.end, brand.end)
	if praised {
		start, end = min(start, praise.start), max(end, praise.end)
	}
	o.add(Promotion, start, end)
}

// orders reports whether a verb is an order. Where it follows its object, its form says
// so; to a model, "must" may be far from it.
func (o *order) orders(verb *span, allowed concept) bool {
	if o.lang.verbLast {
		return o.sentence[verb.start].flags&inside == 0
	}
	if must := o.mustBefore(verb.start); must >= 0 && o.addressed() && o.commands(must, allowed) {
		return true
	}
	return o.commands(verb.start, allowed)
}

// distance returns the number of tokens between a verb and a phrase.
func (o *order) distance(verb *span, s span) int { return max(s.start-verb.end, verb.start-s.end, 0) }

// closest returns the phrase of a meaning that is the closest to a verb, within maxReach.
func (o *order) closest(verb *span, means concept) (found span, ok bool) {
	best := o.words(maxReach) + 1
	for _, s := range o.spans {
		if s.means&means == 0 {
			continue
		}
		if d := o.distance(verb, s); d < best {
			found, best, ok = s, d, true
		}
	}
	return found, ok
}

// steering finds orders to models that favour pages or words, without praise.
func (o *order) steering(verb *span) {
	if (o.addressed() || o.f.audience == Models && o.known&(cMust|cAlways) != 0) && o.commands(verb.start, 0) {
		o.add(Steering, verb.start, verb.end)
	}
}

// add records a match, with "always" and "must" before it and from the addressee on.
func (o *order) add(kind Kind, start, end int) {
	if o.named && o.prefix <= start {
		start = 0
	}
	for start > 0 && o.sentence[start].flags&(first|clause) == 0 && o.cover[start-1]&(cMust|cAlways) != 0 {
		start--
	}
	o.f.add(kind, o.sentence, start, end)
}
