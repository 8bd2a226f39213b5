import { type WebhookEvent } from "./index.js";
/**
 * Verifies a message to a webhook endpoint and returns its event, or throws invalid_signature.
 *
 * Body is what was received, byte by byte. Secret is the secret of the endpoint (whsec_, scheme v1) or its
 * public key (whpk_, scheme v1a). Tolerance is in seconds: it bounds how long a captured message can be sent
 * again.
 */
export declare function verifyWebhook(body: Uint8Array | string, headers: Headers | Record<string, string | string[] | undefined>, secret: string, tolerance?: number): Promise<WebhookEvent>;
