// The TypeScript client of the Fieldmark API: missions, webhooks and scores.
//
// It runs in Node.js 20 or later, Deno and Bun, and without a key in browsers. Every failure is a
// FieldmarkError with a code. Calls that failed because the server was busy or the connection was lost are
// repeated, if repeating them cannot have a second effect.

import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];
type Query<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;

export type Mission = Schemas["Mission"];
export type MissionRequest = Schemas["MissionRequest"];
export type MissionPatch = Schemas["MissionPatch"];
export type MissionFilter = Query<"listMissions">;
export type Reason = Schemas["Reason"];
export type Move = Schemas["Transition"];
export type BatchResult = Schemas["BatchResult"];
export type Endpoint = Schemas["Endpoint"];
export type Delivery = Schemas["Delivery"];
export type Replay = Schemas["Replay"];
export type ReplayRequest = Schemas["ReplayRequest"];
export type PolledEvent = Schemas["PolledEvent"];
export type Score = Schemas["Score"];
export type Problem = Schemas["Problem"];
/** A message to a webhook endpoint. */
export type WebhookEvent = Omit<PolledEvent, "number">;

/** Where the API is, and the credentials. In Node.js, the environment has the defaults. */
export interface Options {
  /** Scheme and host; the default is $FIELDMARK_URL. */
  baseUrl?: string;
  /** An API key; the default is $FIELDMARK_API_KEY. Scores need none. */
  key?: string;
  /** Milliseconds of one attempt; the default is 15,000, longer than the limits of the server. */
  timeout?: number;
}

/** How a call changes data. */
export interface Write {
  /** Validate and run the change, return its result, and undo it. */
  dryRun?: boolean;
  /** Change only this version of the mission. */
  version?: number;
  /** Identifies the change across calls; by default one call and its repetitions. */
  idempotencyKey?: string;
}

/**
 * A call that failed. Branch on code, which is stable. Besides the codes of the API there are timeout and
 * origin_unavailable for a connection without a response, and invalid_signature of verifyWebhook.
 */
export class FieldmarkError extends Error {
  override readonly name = "FieldmarkError";
  constructor(
    readonly code: string,
    readonly detail: string,
    /** Status of the response; 0 without one. */
    readonly status = 0,
    /** The document of the error (RFC 9457), with the errors of members. */
    readonly problem?: Problem,
    /** Seconds; undefined without Retry-After. */
    readonly retryAfter?: number,
  ) {
    super(`${code}: ${detail}`);
  }
}

const defaultTimeout = 15_000;
const maxRetries = 3;
const maxRetryAfter = 30; // seconds; a longer Retry-After is left to the caller
const firstPause = 100; // milliseconds
const maxResponse = 8 << 20; // bytes: far above the largest page of missions
const maxProblem = 64 << 10; // bytes of a problem document
const missions = "/api/public/v1/missions";
const webhooks = "/api/public/v1/webhooks";

/** Calls the API. */
export class Fieldmark {
  readonly #base: string;
  readonly #key: string;
  readonly #timeout: number;

  constructor(options: Options = {}) {
    const env: Record<string, string | undefined> =
      (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env ?? {};
    const base = options.baseUrl ?? env.FIELDMARK_URL ?? "";
    const url = URL.canParse(base) ? new URL(base) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.search || url.username) {
      throw new FieldmarkError("invalid_parameter",
        "baseUrl (or $FIELDMARK_URL) must be http or https, a host and at most a path");
    }
    this.#base = base.replace(/\/+$/, "");
    this.#key = options.key ?? env.FIELDMARK_API_KEY ?? "";
    this.#timeout = options.timeout ?? defaultTimeout;
  }

  /** Creates a mission. Source and externalId identify it: opening it again returns the existing one. */
  open(mission: MissionRequest, write: Write = {}): Promise<Mission> {
    return this.#write("POST", missions, mission, write, Boolean(mission.source && mission.externalId));
  }

  /** Returns a mission. */
  get(id: string): Promise<Mission> {
    return this.request("GET", path(missions, id));
  }

  /** Yields the missions that match a filter, page by page. */
  find(filter: MissionFilter = {}): AsyncGenerator<Mission, void> {
    return this.#pages<Mission>(missions, filter);
  }

  /** Applies a merge patch (RFC 7396): null removes a member. */
  edit(id: string, patch: MissionPatch, write: Write = {}): Promise<Mission> {
    return this.#write("PATCH", path(missions, id), patch, write);
  }

  /** Changes the status of a mission. */
  move(id: string, move: Move, write: Write = {}): Promise<Mission> {
    return this.#write("POST", path(missions, id, "transitions"), move, write);
  }

  /** Cancels a mission. Repeating it has no further effect. */
  cancel(id: string, reason?: Reason, write: Write = {}): Promise<Mission> {
    return this.#write("POST", path(missions, id, "cancel"), reason ? { reason } : {}, write);
  }

  /** Creates up to 100 missions, and returns a result for each in the same order. */
  async batch(all: MissionRequest[], write: Write = {}): Promise<BatchResult[]> {
    const report = await this.#write<Schemas["BatchReport"]>("POST", missions + "/batch", { missions: all }, write);
    return report.results ?? [];
  }

  /** Returns the webhook endpoints of the account. */
  async endpoints(): Promise<Endpoint[]> {
    return (await this.request<Page<Endpoint>>("GET", webhooks)).data ?? [];
  }

  /** Yields the deliveries to an endpoint, the newest first, page by page. */
  deliveries(endpoint: string, filter: { state?: string } = {}): AsyncGenerator<Delivery, void> {
    return this.#pages<Delivery>(path(webhooks, endpoint, "deliveries"), filter);
  }

  /** Sends messages to an endpoint again. */
  replay(endpoint: string, request: ReplayRequest): Promise<Replay> {
    return this.request("POST", path(webhooks, endpoint, "replays"), request);
  }

  /**
   * Yields the events after a number, to the end of the log. Continue after the number of the last one.
   * With an endpoint, only what that webhook endpoint selects by its types and its filter.
   */
  async *poll(after = 0, types: string[] = [], endpoint?: string): AsyncGenerator<PolledEvent, void> {
    for (;;) {
      const page = await this.request<Schemas["PolledEvents"]>("GET",
        query("/api/public/v1/events", { after, type: types, endpoint }));
      yield* page.data ?? [];
      if (!page.hasMore || page.next <= after) return;
      after = page.next;
    }
  }

  /** Returns the score of a brand. It needs no key. */
  score(slug: string): Promise<Score> {
    return this.request("GET", path("/api/v1/score", slug));
  }

  /** Calls any operation of the API. The path begins with /api/. */
  request<Result>(method: string, target: string, body?: unknown, write: Write = {}): Promise<Result> {
    return method === "GET" ? this.#send(method, target, body, {}) : this.#write(method, target, body, write);
  }

  async *#pages<Item>(target: string, filter: object): AsyncGenerator<Item, void> {
    let cursor = (filter as { cursor?: string }).cursor;
    for (;;) {
      const page = await this.request<Page<Item>>("GET", query(target, { ...filter, cursor }));
      yield* page.data ?? [];
      // A server that repeats its cursor would be read forever.
      if (!page.hasMore || !page.nextCursor || page.nextCursor === cursor) return;
      cursor = page.nextCursor;
    }
  }

  #write<Result>(method: string, target: string, body: unknown, write: Write, natural = false): Promise<Result> {
    const headers: Record<string, string> = {};
    // Without a key of its own, a write gets one for its repetitions.
    if (write.idempotencyKey || !natural) headers["Idempotency-Key"] = write.idempotencyKey ?? crypto.randomUUID();
    if (write.version !== undefined) headers["If-Match"] = `"${write.version}"`;
    return this.#send(method, write.dryRun ? query(target, { dryRun: true }) : target, body, headers);
  }

  /** Sends a request, again where that is useful. Every request here can be repeated. */
  async #send<Result>(method: string, target: string, body: unknown, headers: Record<string, string>):
    Promise<Result> {
    headers.Accept = "application/json, application/problem+json";
    if (this.#key) headers.Authorization = "Bearer " + this.#key;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    for (let attempt = 0; ; attempt++) {
      try {
        const text = await this.#attempt(this.#base + target, init);
        try {
          return (text === "" ? undefined : JSON.parse(text)) as Result;
        } catch {
          throw new FieldmarkError("internal", "the response is not valid JSON");
        }
      } catch (error) {
        const pause = pauseAfter(error as FieldmarkError, attempt);
        if (pause === undefined || attempt === maxRetries) throw error;
        await new Promise((done) => setTimeout(done, pause));
      }
    }
  }

  async #attempt(url: string, init: RequestInit): Promise<string> {
    const signal = AbortSignal.timeout(this.#timeout);
    try {
      // The API never redirects; following one would carry the key elsewhere.
      const response = await fetch(url, { ...init, signal, redirect: "manual" });
      if (response.ok) return await read(response, maxResponse);
      throw await responseError(response);
    } catch (error) {
      if (error instanceof FieldmarkError) throw error;
      if (signal.aborted) throw new FieldmarkError("timeout", "the server did not answer in time");
      throw new FieldmarkError("origin_unavailable", `the connection failed: ${String(error)}`);
    }
  }
}

interface Page<Item> { data: Item[] | null; hasMore: boolean; nextCursor?: string }

/** Reads a body of at most limit bytes. */
async function read(response: Response, limit: number): Promise<string> {
  if (!response.body) return "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = "", size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if ((size += value.length) > limit) {
      await reader.cancel();
      throw new FieldmarkError("internal", `the response exceeds ${limit} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

async function responseError(response: Response): Promise<FieldmarkError> {
  const after = response.headers.get("Retry-After") ?? "";
  const retryAfter = /^\d{1,9}$/.test(after) ? Number(after) : undefined;
  if (response.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    try {
      const problem = JSON.parse(await read(response, maxProblem)) as Problem;
      if (typeof problem?.code === "string") {
        return new FieldmarkError(problem.code, problem.detail ?? "", response.status, problem, retryAfter);
      }
    } catch { /* not a problem document */ }
  } else {
    await response.body?.cancel();
  }
  const code = { 429: "rate_limited", 503: "origin_unavailable" }[response.status] ?? "internal";
  return new FieldmarkError(code, `status ${response.status} without a problem document`, response.status, undefined,
    retryAfter);
}

/** Returns the milliseconds before the next attempt, or undefined if it is not worth it. */
function pauseAfter(error: FieldmarkError, attempt: number): number | undefined {
  const lost = error.status === 0 && error.code === "origin_unavailable";
  // An attempt whose connection was lost may still be running.
  if (!lost && error.status !== 429 && error.status !== 503 && error.code !== "idempotency_in_progress") return;
  if (error.retryAfter !== undefined) return error.retryAfter <= maxRetryAfter ? error.retryAfter * 1000 : undefined;
  // A random half, so that clients that failed together do not return together.
  return firstPause * 2 ** attempt * (1 + Math.random()) / 2;
}

function path(base: string, ...names: string[]): string {
  return [base, ...names.map(encodeURIComponent)].join("/");
}

function query(target: string, values: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(name, String(one));
  }
  return search.size > 0 ? `${target}?${search}` : target;
}

export { verifyWebhook } from "./webhook.js";
