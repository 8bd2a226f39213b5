//! A strict scorer: half measures earn little. card.json says the same.
#![no_std]

// The SDK is one file: build.sh puts it here where it is not.
mod scorer;
use scorer::{linear, steps, Inputs, Mix, Output};

// In the order of the manifest.
const REACHABLE: usize = 0;
const WORDS: usize = 1;
const TLS: usize = 2;
const REDIRECT: usize = 3;
const HSTS: usize = 4;
const TTFB: usize = 5;

static mut IN: Inputs<6> = Inputs::new();
static mut OUT: Output<3> = Output::new();

fn score(v: &Inputs<6>, out: &mut Output<3>) {
    let yes = [(0, 0), (1000, 1000)];
    let (mut text, mut https, mut speed) = (Mix::default(), Mix::default(), Mix::default());
    text.add(v.states[WORDS], 1, linear(v.values[WORDS], &[(200_000, 0), (400_000, 400), (600_000, 1000)]));
    https.add(v.states[TLS], 1, linear(v.values[TLS], &yes));
    https.add(v.states[REDIRECT], 1, linear(v.values[REDIRECT], &yes));
    https.add(v.states[HSTS], 1, linear(v.values[HSTS], &[(0, 500), (1000, 1000)]));
    speed.add(v.states[TTFB], 1, steps(v.values[TTFB], &[(200_000, 1000), (400_000, 600), (800_000, 200)], 0));
    out.mark(0, text.mean());
    out.mark(1, https.least());
    out.mark(2, speed.mean());
    out.gate(0, v.below(REACHABLE, 1000));
    out.gate(1, v.below(TLS, 1000));
    out.total(&[40, 30, 30]);
}

#[no_mangle]
pub extern "C" fn scorer_v1_input() -> *const u8 {
    &raw const IN as *const u8
}

#[no_mangle]
pub extern "C" fn scorer_v1_score() -> *const u8 {
    // SAFETY: the host calls one function at a time, and nothing else is running.
    unsafe { score(&*(&raw const IN), &mut *(&raw mut OUT)) };
    &raw const OUT as *const u8
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
