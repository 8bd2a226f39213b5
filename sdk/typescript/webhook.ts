import { FieldmarkError, type WebhookEvent } from "./index.js";

const encoder = new TextEncoder();

/**
 * Verifies a message to a webhook endpoint and returns its event, or throws invalid_signature.
 *
 * Body is what was received, byte by byte. Secret is the secret of the endpoint (whsec_, scheme v1) or its
 * public key (whpk_, scheme v1a). Tolerance is in seconds: it bounds how long a captured message can be sent
 * again.
 */
export async function verifyWebhook(
  body: Uint8Array | string,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
  tolerance = 300,
): Promise<WebhookEvent> {
  const field = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const refuse = (detail: string) => new FieldmarkError("invalid_signature", detail);
  const [, prefix, digits] = /^(whsec|whpk)_(.*)$/.exec(secret) ?? [];
  const key = decode(digits ?? "");
  // A shorter secret than the API accepts was cut, and an empty one would verify what anyone can sign.
  if (!key || (prefix === "whsec" ? key.length < 24 : key.length !== 32)) {
    throw refuse("the secret is not whsec_ or whpk_ and base64");
  }
  const id = field("webhook-id"), at = field("webhook-timestamp");
  if (!id || !/^\d{1,15}$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > tolerance) {
    throw refuse("webhook-id is missing, or webhook-timestamp is too far from now");
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(`${id}.${at}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  const shared = prefix === "whsec";
  const algorithm = shared ? { name: "HMAC", hash: "SHA-256" } : { name: "Ed25519" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"]);
  for (const signature of field("webhook-signature").split(" ")) {
    const [scheme, digits] = signature.split(",", 2);
    const got = decode(digits ?? "");
    if (scheme !== (shared ? "v1" : "v1a") || !got) continue;
    if (await crypto.subtle.verify(algorithm, imported, got, signed)) {
      try {
        return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
      } catch {
        throw refuse("the signature is valid, but the body is not JSON");
      }
    }
  }
  throw refuse("no signature in webhook-signature is valid");
}

/** Decodes base64; undefined if it is not. */
function decode(digits: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(digits), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
