package badge

// styled reports whether the badge has a style element.
// Pictures without one are smaller, and some proxies remove style elements.
func (p *svgWriter) styled() bool {
	return p.options.Theme == Auto && !p.options.Style.shields() || p.animates()
}

// animates reports whether there is an arc that is drawn before the reader's eyes.
// A badge without a score has no arc to draw.
func (p *svgWriter) animates() bool {
	return p.options.Animate && p.options.Style.gauge() && p.content.score != "" && p.content.fill > 0
}

// class appends the badge's class: every style and color has its own, and what
// moves another, as rules of badges inlined in one page meet.
func (p *svgWriter) class() {
	p.dst = append(p.dst, 'f', "mkcs"[p.options.Style&3], p.content.color.class)
	if p.animates() {
		p.dst = append(p.dst, 'v')
	}
}

// style appends the dark colors and the animation. Every selector begins with the class, so
// that the styles do not change anything else on a page that inlines the badge.
// Media queries work inside an image as well, where the color scheme is that of the browser.
func (p *svgWriter) style() {
	p.raw(`<style>`)
	if p.options.Theme == Auto {
		p.raw(`@media(prefers-color-scheme:dark){`)
		if p.options.Style == Compact {
			p.rule(` rect{fill:`, dark.label, `}`)
		} else {
			p.rule(`{fill:`, p.content.color.dark, `}`)
			p.rule(` g{stroke:`, p.content.color.dark, `}`)
			p.rule(` rect{fill:`, dark.surface, `;stroke:`+darkBorder+`}`)
			p.rule(` rect+*{fill:`, dark.text, `}`)
			if p.options.Style != Pill && p.hasNote() {
				p.rule(` rect+*+*{fill:`, dark.muted, `}`)
			}
			if p.badge.Claimed {
				p.rule(` g~circle{stroke:`, dark.surface, `}`)
				p.rule(` g~circle+path{fill:`, dark.surface, `}`)
			}
		}
		p.raw(`}`)
	}
	// Readers who asked their system for less motion get none.
	if p.animates() {
		p.raw(`@media(prefers-reduced-motion:no-preference){`)
		p.rule(` g path{animation:`, motions[p.options.Style&3], ` .8s ease-out}}@keyframes `)
		p.raw(motions[p.options.Style&3])
		p.raw(`{0%{stroke-dasharray:0 151}}`)
	}
	p.raw(`</style>`)
}

// motions are the names of the motion, by style: a name is valid for the page.
var motions = [...]string{Pill: "fmm", Compact: "", Card: "fmc", Seal: "fms"}

// rule appends a rule about parts of the badge.
// value is a color or a name of this package, never text of a client.
func (p *svgWriter) rule(selector, value, end string) {
	p.raw(`.`)
	p.class()
	p.raw(selector)
	p.raw(value)
	p.raw(end)
}
