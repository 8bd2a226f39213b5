/* A strict scorer: half measures earn little. card.json says the same. */
#define SCORER_INPUTS 6
#define SCORER_SIGNALS 3
#include "scorer.h"

/* In the order of the manifest. */
enum { REACHABLE, WORDS, TLS, REDIRECT, HSTS, TTFB };
enum { TEXT, HTTPS, SPEED };

static const int64_t scorer_points[SCORER_SIGNALS] = {40, 30, 30};

static const struct scorer_knot words[] = {{200000, 0}, {400000, 400}, {600000, 1000}};
static const struct scorer_knot yes[] = {{0, 0}, {1000, 1000}};
static const struct scorer_knot half[] = {{0, 500}, {1000, 1000}};
static const struct scorer_knot slow[] = {{200000, 1000}, {400000, 600}, {800000, 200}};

static void scorer_run(void) {
    const int64_t *v = scorer_in.value;
    struct scorer_mix text = {0}, https = {0}, speed = {0};
    scorer_add(&text, WORDS, 1, scorer_linear(v[WORDS], words, 3));
    scorer_add(&https, TLS, 1, scorer_linear(v[TLS], yes, 2));
    scorer_add(&https, REDIRECT, 1, scorer_linear(v[REDIRECT], yes, 2));
    scorer_add(&https, HSTS, 1, scorer_linear(v[HSTS], half, 2));
    scorer_add(&speed, TTFB, 1, scorer_steps(v[TTFB], slow, 3, 0));
    scorer_out.signal[TEXT].mark = scorer_mean(&text);
    scorer_out.signal[HTTPS].mark = scorer_least(&https);
    scorer_out.signal[SPEED].mark = scorer_mean(&speed);
    if (scorer_below(REACHABLE, 1000)) scorer_out.gates |= 1;
    if (scorer_below(TLS, 1000)) scorer_out.gates |= 2;
}
