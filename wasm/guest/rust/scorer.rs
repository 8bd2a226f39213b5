//! The ABI "scorer/1" for Rust: wasm/ABI.md in one file, and the arithmetic of
//! scorecards. Everything is in thousandths. A module of a crate: no scorer needs all of it.
#![allow(dead_code)]

/// The state of an input that nobody could find out.
pub const UNKNOWN: u8 = 0;
/// The state of an input that was measured.
pub const MEASURED: u8 = 1;
/// The state of an input that does not apply to the site.
pub const NOT_APPLICABLE: u8 = 2;

const FULL: i64 = 1000;
const MARK_NOT_APPLICABLE: i32 = -1;
const MARK_UNKNOWN: i32 = -2;
const NO_SCORE: i32 = -1;

/// What the host writes, for `N` inputs.
#[repr(C, align(8))]
pub struct Inputs<const N: usize> {
    pub values: [i64; N],
    pub states: [u8; N],
}

impl<const N: usize> Inputs<N> {
    pub const fn new() -> Self {
        Inputs { values: [0; N], states: [0; N] }
    }

    /// Whether an input was measured and is below a limit.
    pub fn below(&self, i: usize, limit: i64) -> bool {
        self.states[i] == MEASURED && self.values[i] < limit
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    mark: i32,
    reserved: u32,
}

/// What the host reads, for `M` signals.
#[repr(C)]
pub struct Output<const M: usize> {
    score: i32,
    gates: u32,
    signals: u32,
    flags: u32,
    entries: [Entry; M],
}

impl<const M: usize> Output<M> {
    pub const fn new() -> Self {
        Output { score: 0, gates: 0, signals: M as u32, flags: 0, entries: [Entry { mark: 0, reserved: 0 }; M] }
    }

    pub fn mark(&mut self, i: usize, mark: i32) {
        self.entries[i].mark = mark;
    }

    /// Notes that a gate caught.
    pub fn gate(&mut self, i: u32, caught: bool) {
        if caught {
            self.gates |= 1 << i;
        }
    }

    /// Adds the marks up, as the host does.
    pub fn total(&mut self, points: &[i64; M]) {
        let (mut reached, mut measured) = (0, 0);
        for (e, p) in self.entries.iter().zip(points) {
            if e.mark >= 0 {
                reached += p * e.mark as i64;
                measured += p;
            }
        }
        self.score = if measured == 0 { NO_SCORE } else { ((200 * reached + measured) / (2 * measured)) as i32 };
    }
}

/// A chain of straight lines through points of growing x, flat outside them.
pub fn linear(v: i64, knots: &[(i64, i64)]) -> i64 {
    if v <= knots[0].0 {
        return knots[0].1;
    }
    for w in knots.windows(2) {
        let ((x0, y0), (x1, y1)) = (w[0], w[1]);
        if v <= x1 {
            let d = x1 - x0;
            return (2 * y0 * (x1 - v) + 2 * y1 * (v - x0) + d) / (2 * d);
        }
    }
    knots[knots.len() - 1].1
}

/// The mark of the first point that is not below v; behind the last, beyond.
pub fn steps(v: i64, knots: &[(i64, i64)], beyond: i64) -> i64 {
    knots.iter().find(|k| v <= k.0).map_or(beyond, |k| k.1)
}

/// Gathers the parts of a signal.
#[derive(Default)]
pub struct Mix {
    sum: i64,
    weight: i64,
    least: i64,
    unknown: bool,
}

impl Mix {
    /// Adds a part: the state of its input, its weight, and the mark it earns.
    pub fn add(&mut self, state: u8, weight: i64, mark: i64) {
        if self.weight == 0 {
            self.least = FULL;
        }
        match state {
            UNKNOWN => self.unknown = true,
            MEASURED => {
                self.sum += weight * mark;
                self.weight += weight;
                self.least = self.least.min(mark);
            }
            _ => {}
        }
    }

    fn or_none(&self, mark: i64) -> i32 {
        if self.unknown {
            MARK_UNKNOWN
        } else if self.weight == 0 {
            MARK_NOT_APPLICABLE
        } else {
            mark as i32
        }
    }

    /// The mark of a signal whose parts count by their weights.
    pub fn mean(&self) -> i32 {
        let weight = self.weight.max(1);
        self.or_none((2 * self.sum + weight) / (2 * weight))
    }

    /// The mark of a signal whose worst part decides.
    pub fn least(&self) -> i32 {
        self.or_none(self.least)
    }
}
