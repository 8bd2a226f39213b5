// Counts what the public suite of HTTP cache tests says, names what did not pass,
// and fails below the given numbers of required and optimal tests.
import fs from 'fs'
import process from 'process'
import * as display from './lib/display.mjs'
import tests from './tests/index.mjs'

const [file, required, optimal] = process.argv.slice(2)
const results = JSON.parse(fs.readFileSync(file))
const counts = {}
for (const suite of tests) {
  for (const test of suite.tests) {
    if (test.browser_only || results[test.id] === undefined) continue
    const kind = test.kind || 'required'
    const passed = results[test.id] === true
    counts[kind] ||= { passed: 0, of: 0 }
    counts[kind].of++
    if (passed) counts[kind].passed++
    else if (kind !== 'check') console.log(`${kind}: ${test.id}: ${display.determineTestResult(tests, test.id, results)[2]} ${results[test.id][1] || ''}`)
  }
}
for (const [kind, n] of Object.entries(counts)) console.log(`${kind}: ${n.passed} of ${n.of}`)
if (!(counts.required?.passed >= +required && counts.optimal?.passed >= +optimal)) {
  console.log(`want at least ${required} required and ${optimal} optimal`)
  process.exit(1)
}
