// Verifies signed requests with two libraries: node verify.mjs MESSAGES KEY LIBRARY TIME. MESSAGES
// is a JSON file with a list of {method, url, headers}, KEY a JSON Web Key, TIME the time at which
// the requests arrive, in milliseconds. It prints how many the library accepts.
import { readFileSync } from 'node:fs';
import { createPublicKey } from 'node:crypto';
import { createVerifier, httpbis } from 'http-message-signatures';
import { verify } from 'web-bot-auth';
import { verifierFromJWK } from 'web-bot-auth/crypto';

const [file, key, library, time] = process.argv.slice(2);
Date.now = () => Number(time); // signatures live for a minute, and this process may begin later
const jwk = JSON.parse(key);
const known = createVerifier(createPublicKey({ key: jwk, format: 'jwk' }), 'ed25519');
const keyLookup = async (params) => (params.keyid === jwk.kid ? { id: jwk.kid, algs: ['ed25519'], verify: known } : null);
const required = {
  requiredParams: ['created', 'expires', 'keyid', 'tag'],
  requiredFields: ['@authority', '@method', '@path', 'signature-agent'],
};
const check = {
  'http-message-signatures': (m) => httpbis.verifyMessage({ keyLookup, ...required }, m),
  // The response of a key directory, with the request that it answers.
  directory: (m) => httpbis.verifyMessage({ keyLookup, requiredFields: ['@authority', 'content-digest'] }, m.response, m),
  'web-bot-auth': async (m) => {
    await verify(m, await verifierFromJWK(jwk));
    return true;
  },
}[library];

let accepted = 0;
for (const m of JSON.parse(readFileSync(file, 'utf8'))) {
  try {
    if ((await check(m)) === true) accepted++;
  } catch (err) {
    if (process.env.VERBOSE) console.error(err);
  }
}
console.log(accepted);
