/* The ABI "scorer/1" for C: wasm/ABI.md in one header, and the arithmetic of
 * scorecards. Before including it, define SCORER_INPUTS and SCORER_SIGNALS; after
 * it, define scorer_points and scorer_run. Everything is in thousandths. */
#ifndef SCORER_H
#define SCORER_H

#include <stdint.h>

enum { SCORER_UNKNOWN = 0, SCORER_MEASURED = 1, SCORER_NOT_APPLICABLE = 2 };
enum { SCORER_FULL = 1000, SCORER_MARK_NOT_APPLICABLE = -1, SCORER_MARK_UNKNOWN = -2, SCORER_NO_SCORE = -1 };

/* What the host writes: a value is 0 unless it was measured. */
static struct {
    int64_t value[SCORER_INPUTS];
    uint8_t state[SCORER_INPUTS];
} scorer_in;

/* What the host reads. */
static struct {
    int32_t score;
    uint32_t gates, signals, flags;
    struct { int32_t mark; uint32_t reserved; } signal[SCORER_SIGNALS];
} scorer_out;

/* The points of each signal, in the order of the manifest. */
static const int64_t scorer_points[SCORER_SIGNALS];

/* Sets the mark of every signal and the gates that caught. */
static void scorer_run(void);

/* A point of a curve: an input and the mark it earns. */
struct scorer_knot { int64_t x, y; };

/* A chain of straight lines, flat outside its points. */
static int64_t scorer_linear(int64_t v, const struct scorer_knot *k, int n) {
    if (v <= k[0].x) return k[0].y;
    for (int i = 1; i < n; i++) {
        if (v > k[i].x) continue;
        int64_t d = k[i].x - k[i - 1].x;
        return (2 * k[i - 1].y * (k[i].x - v) + 2 * k[i].y * (v - k[i - 1].x) + d) / (2 * d);
    }
    return k[n - 1].y;
}

/* The mark of the first point that is not below v; beyond the last, beyond. */
static int64_t scorer_steps(int64_t v, const struct scorer_knot *k, int n, int64_t beyond) {
    for (int i = 0; i < n; i++)
        if (v <= k[i].x) return k[i].y;
    return beyond;
}

/* A signal of several parts: add each, then ask for the mean or the least. */
struct scorer_mix { int64_t sum, weight, least; int unknown; };

static void scorer_add(struct scorer_mix *m, int input, int64_t weight, int64_t mark) {
    if (m->weight == 0) m->least = SCORER_FULL;
    if (scorer_in.state[input] == SCORER_UNKNOWN) m->unknown = 1;
    if (scorer_in.state[input] != SCORER_MEASURED) return;
    m->sum += weight * mark;
    m->weight += weight;
    if (mark < m->least) m->least = mark;
}

static int32_t scorer_mean(const struct scorer_mix *m) {
    if (m->unknown) return SCORER_MARK_UNKNOWN;
    if (m->weight == 0) return SCORER_MARK_NOT_APPLICABLE;
    return (int32_t)((2 * m->sum + m->weight) / (2 * m->weight));
}

static int32_t scorer_least(const struct scorer_mix *m) {
    if (m->unknown) return SCORER_MARK_UNKNOWN;
    if (m->weight == 0) return SCORER_MARK_NOT_APPLICABLE;
    return (int32_t)m->least;
}

/* Whether an input was measured and is below a limit. */
static int scorer_below(int input, int64_t limit) {
    return scorer_in.state[input] == SCORER_MEASURED && scorer_in.value[input] < limit;
}

__attribute__((export_name("scorer_v1_input"))) int32_t scorer_v1_input(void) { return (int32_t)(uintptr_t)&scorer_in; }

__attribute__((export_name("scorer_v1_score"))) int32_t scorer_v1_score(void) {
    int64_t reached = 0, measured = 0;
    scorer_out.gates = 0;
    scorer_out.signals = SCORER_SIGNALS;
    scorer_run();
    for (int i = 0; i < SCORER_SIGNALS; i++) {
        if (scorer_out.signal[i].mark < 0) continue;
        reached += scorer_points[i] * scorer_out.signal[i].mark;
        measured += scorer_points[i];
    }
    scorer_out.score = measured == 0 ? SCORER_NO_SCORE : (int32_t)((200 * reached + measured) / (2 * measured));
    return (int32_t)(uintptr_t)&scorer_out;
}

#endif
