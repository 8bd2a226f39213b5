package badge

import (
	"math"
	"strconv"
)

// flatten turns path data into straight lines fine enough for the scale.
// Only data of this package are read: glyphs and shapes. A mistake in them is a bug and panics.
func flatten(d string, scale float64) [][]point {
	r := pathReader{d: d, scale: scale}
	for r.next() {
		r.command()
	}
	r.close()
	return r.contours
}

// pathReader reads the path data we write: moves, lines and curves, absolute and
// relative, and arcs of circles.
type pathReader struct {
	d        string
	at       int
	op       byte
	scale    float64
	contours [][]point
	contour  []point
	p, start point
	bend     byte  // the curve of the last command, or 0
	ctrl     point // its last control point
}

// next finds the next command, or that the last one goes on.
// SVG lets a command be left out if it repeats; next keeps it then.
func (r *pathReader) next() bool {
	for r.at < len(r.d) && r.d[r.at] == ' ' {
		r.at++
	}
	if r.at == len(r.d) {
		return false
	}
	// Every letter is a command: digits, signs and points are below 'A' in ASCII.
	if c := r.d[r.at]; c >= 'A' {
		r.op = c
		r.at++
	}
	return true
}

// number reads a number. A second point or a minus sign begins the next one, as in ".5.5" and
// "1-1".
func (r *pathReader) number() float64 {
	for r.at < len(r.d) && r.d[r.at] == ' ' {
		r.at++
	}
	from := r.at
	point := false
	for ; r.at < len(r.d); r.at++ {
		c := r.d[r.at]
		if c == '.' && !point {
			point = true
		} else if (c < '0' || c > '9') && (c != '-' || r.at > from) {
			break
		}
	}
	v, err := strconv.ParseFloat(r.d[from:r.at], 64)
	if err != nil {
		// The paths are part of the program, so that no request leads here.
		panic("BUG: a built-in path that cannot be parsed: " + r.d)
	}
	return v
}

// point reads a point.
func (r *pathReader) point() point {
	o := r.origin()
	x, y := r.number(), r.number()
	return point{o.x + x, o.y + y}
}

// origin is where the numbers of the command are counted from.
func (r *pathReader) origin() point {
	if r.op >= 'a' {
		return r.p
	}
	return point{}
}

// command reads the numbers of one command and draws it. op | ' ' is the letter in lower case.
// Only the command right before counts for a smooth curve, so the kind is forgotten each time.
func (r *pathReader) command() {
	bend := r.bend
	r.bend = 0
	switch r.op | ' ' {
	case 'm':
		r.close()
		r.p = r.point()
		r.start = r.p
		r.contour = append(r.contour, r.p)
		r.op-- // further pairs are lines: l after m, L after M
	case 'l':
		r.to(r.point())
	case 'h':
		r.to(point{r.origin().x + r.number(), r.p.y})
	case 'v':
		r.to(point{r.p.x, r.origin().y + r.number()})
	case 'q':
		a := r.point()
		r.quadratic(a, r.point())
	case 't':
		a := r.smooth(bend, 'q')
		r.quadratic(a, r.point())
	case 'c':
		a, b := r.point(), r.point()
		r.cubic(a, b, r.point())
	case 's':
		a, b := r.smooth(bend, 'c'), r.point()
		r.cubic(a, b, r.point())
	case 'a':
		r.arc()
	case 'z':
		r.close()
		r.p = r.start
	default:
		panic("BUG: a built-in path with an unknown command: " + r.d)
	}
}

// smooth returns the control point of a smooth curve: the last one's, mirrored, if the last
// command was a curve of its kind.
func (r *pathReader) smooth(last, kind byte) point {
	if last != kind {
		// SVG: without such a curve before, the control point is the current point.
		return r.p
	}
	return point{2*r.p.x - r.ctrl.x, 2*r.p.y - r.ctrl.y}
}

// quadratic adds the cubic curve with its handles two thirds out, which is it.
func (r *pathReader) quadratic(a, to point) {
	third := func(end point) point { return point{end.x + (a.x-end.x)*2/3, end.y + (a.y-end.y)*2/3} }
	r.curve(third(r.p), third(to), to)
	r.bend, r.ctrl = 'q', a
}

// cubic adds a curve and keeps its last control point for a smooth one that follows.
func (r *pathReader) cubic(a, b, to point) {
	r.curve(a, b, to)
	r.bend, r.ctrl = 'c', b
}

// to adds a straight line to a point.
func (r *pathReader) to(p point) {
	r.p = p
	r.contour = append(r.contour, p)
}

// close ends a contour. A single point encloses nothing.
func (r *pathReader) close() {
	if len(r.contour) > 1 {
		r.contours = append(r.contours, r.contour)
	}
	r.contour = nil
}

// curve adds a cubic curve in as many lines as its length deserves.
func (r *pathReader) curve(a, b, to point) {
	from := r.p
	length := math.Hypot(a.x-from.x, a.y-from.y) + math.Hypot(b.x-a.x, b.y-a.y) + math.Hypot(to.x-b.x, to.y-b.y)
	// The number of lines grows with the root of the length: the error of each falls with its
	// square.
	n := 2 + int(math.Sqrt(length*r.scale*4))
	for i := 1; i <= n; i++ {
		t := float64(i) / float64(n)
		u := 1 - t
		r.to(point{
			u*u*u*from.x + 3*u*u*t*a.x + 3*u*t*t*b.x + t*t*t*to.x,
			u*u*u*from.y + 3*u*u*t*a.y + 3*u*t*t*b.y + t*t*t*to.y,
		})
	}
}

// arc adds an arc of a circle: a corner, or once round.
func (r *pathReader) arc() {
	radius := r.number()
	// The paths have circles only, so that the second radius and the rotation have no effect.
	r.number() // the other radius, the same
	r.number() // the turn of the axes, none
	large, sweep := r.number() == 1, r.number() == 1
	to := r.point()
	// The centre is off the middle of the chord, on one side or the other.
	dx, dy := to.x-r.p.x, to.y-r.p.y
	chord := math.Hypot(dx, dy)
	// Two equal points have no direction: dx/chord would be NaN, and so would every point of
	// the arc.
	if chord == 0 {
		return
	}
	// max guards against a chord that rounding made longer than the diameter.
	h := math.Sqrt(max(0, radius*radius-chord*chord/4))
	if large == sweep {
		h = -h
	}
	centre := point{r.p.x + dx/2 - dy/chord*h, r.p.y + dy/2 + dx/chord*h}
	begin := math.Atan2(r.p.y-centre.y, r.p.x-centre.x)
	turn := math.Atan2(to.y-centre.y, to.x-centre.x) - begin
	// The difference of two angles leaves the direction open; sweep decides it.
	if sweep && turn < 0 {
		turn += 2 * math.Pi
	} else if !sweep && turn > 0 {
		turn -= 2 * math.Pi
	}
	r.contour = arc(r.contour, centre, radius, begin, turn, r.scale)
	r.p = to
}

// arc appends points of a circle from an angle on.
func arc(dst []point, centre point, r, begin, turn, scale float64) []point {
	// The number of points bounds the distance from the circle to less than can be seen.
	n := 4 + int(math.Abs(turn)*math.Sqrt(r*scale)*2)
	for i := range n + 1 {
		a := begin + turn*float64(i)/float64(n)
		dst = append(dst, point{centre.x + r*math.Cos(a), centre.y + r*math.Sin(a)})
	}
	return dst
}

// rounded returns a rectangle with round corners.
func rounded(x, y, w, h, r, scale float64) []point {
	r = min(r, w/2, h/2)
	if r == 0 {
		return []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
	}
	var out []point
	out = arc(out, point{x + w - r, y + r}, r, -math.Pi/2, math.Pi/2, scale)
	out = arc(out, point{x + w - r, y + h - r}, r, 0, math.Pi/2, scale)
	out = arc(out, point{x + r, y + h - r}, r, math.Pi/2, math.Pi/2, scale)
	return arc(out, point{x + r, y + r}, r, math.Pi, math.Pi/2, scale)
}
