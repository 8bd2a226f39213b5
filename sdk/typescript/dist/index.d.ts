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
export declare class FieldmarkError extends Error {
    readonly code: string;
    readonly detail: string;
    /** Status of the response; 0 without one. */
    readonly status: number;
    /** The document of the error (RFC 9457), with the errors of members. */
    readonly problem?: Problem | undefined;
    /** Seconds; undefined without Retry-After. */
    readonly retryAfter?: number | undefined;
    readonly name = "FieldmarkError";
    constructor(code: string, detail: string, 
    /** Status of the response; 0 without one. */
    status?: number, 
    /** The document of the error (RFC 9457), with the errors of members. */
    problem?: Problem | undefined, 
    /** Seconds; undefined without Retry-After. */
    retryAfter?: number | undefined);
}
/** Calls the API. */
export declare class Fieldmark {
    #private;
    constructor(options?: Options);
    /** Creates a mission. Source and externalId identify it: opening it again returns the existing one. */
    open(mission: MissionRequest, write?: Write): Promise<Mission>;
    /** Returns a mission. */
    get(id: string): Promise<Mission>;
    /** Yields the missions that match a filter, page by page. */
    find(filter?: MissionFilter): AsyncGenerator<Mission, void>;
    /** Applies a merge patch (RFC 7396): null removes a member. */
    edit(id: string, patch: MissionPatch, write?: Write): Promise<Mission>;
    /** Changes the status of a mission. */
    move(id: string, move: Move, write?: Write): Promise<Mission>;
    /** Cancels a mission. Repeating it has no further effect. */
    cancel(id: string, reason?: Reason, write?: Write): Promise<Mission>;
    /** Creates up to 100 missions, and returns a result for each in the same order. */
    batch(all: MissionRequest[], write?: Write): Promise<BatchResult[]>;
    /** Returns the webhook endpoints of the account. */
    endpoints(): Promise<Endpoint[]>;
    /** Yields the deliveries to an endpoint, the newest first, page by page. */
    deliveries(endpoint: string, filter?: {
        state?: string;
    }): AsyncGenerator<Delivery, void>;
    /** Sends messages to an endpoint again. */
    replay(endpoint: string, request: ReplayRequest): Promise<Replay>;
    /**
     * Yields the events after a number, to the end of the log. Continue after the number of the last one.
     * With an endpoint, only what that webhook endpoint selects by its types and its filter.
     */
    poll(after?: number, types?: string[], endpoint?: string): AsyncGenerator<PolledEvent, void>;
    /** Returns the score of a brand. It needs no key. */
    score(slug: string): Promise<Score>;
    /** Calls any operation of the API. The path begins with /api/. */
    request<Result>(method: string, target: string, body?: unknown, write?: Write): Promise<Result>;
}
export { verifyWebhook } from "./webhook.js";
