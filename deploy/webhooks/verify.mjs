import { createHmac, createPublicKey, timingSafeEqual, verify as check } from 'node:crypto';
import { readFileSync } from 'node:fs';

// verify says whether a message was signed with the key and just now. The key is
// a shared secret, whsec_…, or a public key, whpk_…; the body is a Buffer.
export function verify(key, id, timestamp, signatures, body) {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const raw = Buffer.from(key.slice(key.indexOf('_') + 1), 'base64');
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return signatures.split(' ').some((one) => {
    const comma = one.indexOf(',');
    const scheme = one.slice(0, comma);
    const signature = Buffer.from(one.slice(comma + 1), 'base64');
    if (scheme === 'v1' && key.startsWith('whsec_')) {
      const want = createHmac('sha256', raw).update(content).digest();
      return signature.length === want.length && timingSafeEqual(signature, want);
    }
    if (scheme === 'v1a' && key.startsWith('whpk_')) {
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') };
      return check(null, content, createPublicKey({ key: jwk, format: 'jwk' }), signature);
    }
    return false;
  });
}

if (process.argv.length === 6) {
  const good = verify(...process.argv.slice(2), readFileSync(0));
  console.log(good ? 'good' : 'bad');
  process.exitCode = good ? 0 : 1;
}
