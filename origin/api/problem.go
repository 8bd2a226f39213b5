package api

import (
	"cmp"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// getKey is the remedy of problems about keys. It ends the sentence "To get a key, …".
// One text, so that all problems about keys send a developer to the same two places.
const getKey = "send a request at /developers/access, or ask the operator."

// remedies maps each problem to instructions for fixing it.
// They are sentences to a developer who has the response and no access to the log. TestProblems demands
// one for each code.
var remedies = map[fieldmark.Code]string{
	// The request could not be read
	fieldmark.CodeMalformedJSON: "" +
		"Send one JSON document (RFC 8259) and nothing after it. The detail has the byte at which parsing stopped.",
	fieldmark.CodeDuplicateMember: "" +
		"Name each member once. Parsers differ in which duplicate they use, so the request is rejected.",
	fieldmark.CodeInvalidUTF8: "Send the body as UTF-8, without unpaired surrogates.",
	fieldmark.CodeMalformedRequest: "" +
		"Send one request as defined in RFC 9112: lines that end in CRLF, one Host header, one length, a path " +
		"without dot segments. Ordinary HTTP clients do.",
	fieldmark.CodeRequestTimeout: "" +
		"Send the whole request without long pauses, and the body at 256 bytes per second or faster.",
	// Parameters and header fields
	fieldmark.CodeInvalidParameter: "" +
		"See errors. Each pointer is a question mark followed by the name of a query parameter.",
	fieldmark.CodeInvalidCursor: "Use nextCursor of the previous page unchanged, or start again without a cursor.",
	fieldmark.CodeInvalidIdempotency: "" +
		"Send one Idempotency-Key header with 1 to 255 visible ASCII characters, bare or as a quoted string (RFC " +
		"9651).",
	// Keys and what they may do. The texts do not say which keys exist.
	fieldmark.CodeMissingCredentials: "Send Authorization: Bearer with your API key. To get a key, " + getKey,
	fieldmark.CodeInvalidAPIKey: "" +
		"Check that the key is complete and spelled correctly. It may also have been revoked. To get " +
		"a new key, " + getKey,
	fieldmark.CodeExpiredAPIKey:      "To get a new key, " + getKey,
	fieldmark.CodeInvalidCredentials: "Sign in again.",
	fieldmark.CodeModuleRefused: "" +
		"See errors for every reason. Run fieldmark module check FILE to find the same errors before you upload a " +
		"module. If only signed modules are accepted, sign it with a trusted key.",
	fieldmark.CodeRateLimited:       "Wait for the time in Retry-After.",
	fieldmark.CodeInsufficientScope: "Use a key that has the scope in the detail.",
	fieldmark.CodeIPNotAllowed: "" +
		"The key is restricted to certain networks. Send the request from one of them, or ask for a key for your " +
		"network.",
	fieldmark.CodeClockBackward: "The time of a test world only moves forward. Send a later time, or reset the world.",
	fieldmark.CodeClockAdvancing: "Wait until GET /api/public/v1/test/clock returns the state ready. One advance " +
		"runs at a time.",
	fieldmark.CodeWorldResetting: "Wait until GET /api/public/v1/test/reset returns the state ready.",
	fieldmark.CodeTestKey:        "A test key reaches the test world of its account only. Use a live key for this.",
	fieldmark.CodeAgentNotAllowed: "The member agent of the API key says what agents may do with it: nothing (off), " +
		"try " +
		"(dry) or write. An administrator creates a key with another value.",
	fieldmark.CodeConfirmationInvalid: "Send the write as a dry run first, and repeat exactly that request with the " +
		"token " +
		"of its response within ten minutes.",
	fieldmark.CodeAgentQuota: "The member agentWritesPerDay of the API key limits the writes of agents in a day " +
		"(UTC). Retry-After says when the next day begins.",
	fieldmark.CodeKeyNotLive: "Only an active key that was not replaced can be rotated. Create a new key.",
	// Addresses and methods. An object of another account is not found, so that its id cannot be confirmed.
	fieldmark.CodeNotFound: "Check the address. Objects of other accounts are not found either.",
	fieldmark.CodeModuleDisabled: "" +
		"The operator has disabled this part of the API. Repeating the request does not help until that changes.",
	fieldmark.CodeMethodNotAllowed: "Use one of the methods in the Allow header.",
	fieldmark.CodeNotAcceptable:    "Send one of the available media types in Accept, or no Accept header.",
	// Conflicts with what is stored
	fieldmark.CodeMissionExists: "" +
		"A mission with this source and externalId was created with different content; errors lists the " +
		"differences. Read it at Location. To create another mission, use another externalId.",
	fieldmark.CodeBrandExists: "Choose another slug, or update the brand that has it.",
	fieldmark.CodeSinceTooOld: "" +
		"Download the newest file that GET /api/v1/dumps lists, or read everything with since=0, and follow from " +
		"there. Removed brands are named for 30 days.",
	fieldmark.CodeDumpWithdrawn: "" +
		"Delete your copy: a brand in it was removed, renamed or unlisted. GET /api/v1/dumps lists the dumps that " +
		"can be read; a new one is made within the hour.",
	// Disputes, claims and requests of owners
	fieldmark.CodeDisputeExists: "Wait for the decision. The status of a dispute is public under its id.",
	fieldmark.CodeTooManyDisputes: "" +
		"The operator decides about the open disputes of this brand first. Repeat the request later.",
	fieldmark.CodeDisputeDecided: "A decision is final. The owner of the site can open another dispute.",
	fieldmark.CodeProofMissing: "" +
		"The member tried lists where a proof was looked for and what was found. New DNS records can take an hour " +
		"to become visible.",
	fieldmark.CodeClaimContested: "" +
		"A brand has one contest at a time. Repeat the request after the time in Retry-After.",
	fieldmark.CodeClaimState: "Read the claim: its state says what is possible. An ended claim needs a new one.",
	fieldmark.CodeRelistTooSoon: "" +
		"A brand stays unlisted for at least 7 days. Repeat the request after the time in Retry-After.",
	fieldmark.CodeBrandUnlisted:  "List the brand again before the request.",
	fieldmark.CodeRequestDecided: "A decision is final. Its sender can send another request.",
	fieldmark.CodeAccessState: "" +
		"Read the request: a key is shown once, after the approval. If the key is lost, send another request.",
	fieldmark.CodeNoteExists: "" +
		"A note with this externalId was added with different content. To add another note, use another externalId.",
	// Limits of numbers and sizes
	fieldmark.CodeTooMany: "The detail names the limit. Remove older objects first, where that is possible.",
	fieldmark.CodeCDNByAddress: "" +
		"Traffic Server and nginx are purged of exact addresses. Most of the rest expires within five minutes. " +
		"To empty one at once, stop it and run traffic_server -C clear, or delete the files of the cache of nginx.",
	fieldmark.CodeAttachmentTooLarge: "" +
		"The member limit is the maximum size in bytes. Send a smaller file: photos of 1,600 pixels are usually " +
		"enough.",
	fieldmark.CodeDigestMismatch: "" +
		"The SHA-256 hash of the content differs from the field Content-Digest of the request. Send the file again.",
	fieldmark.CodeLinkExpired: "" +
		"Ask for a new link where you got it. What your phone has not sent yet is sent from there. If the key of an " +
		"approved request was not shown in time, send another request.",
	// Missions and their versions
	fieldmark.CodeInvalidOccurredAt: "" +
		"occurredAt is when a device says that something happened: at most 72 hours ago, at most 5 minutes ahead of " +
		"the server, and not before the latest transition of the mission. Correct it, or leave it out to use the " +
		"time of receipt.",
	fieldmark.CodeInvalidTransition: "The member allowed lists the statuses that can follow the current one.",
	fieldmark.CodeIdempotencyInFlight: "" +
		"Repeat the same request after the time in Retry-After. It gets the response to the first request.",
	fieldmark.CodeVersionMismatch: "" +
		"Read the resource again, check what changed, and repeat the request with the new ETag in If-Match.",
	fieldmark.CodeCursorExpired: "Start again without a cursor. The list that it belongs to no longer exists.",
	fieldmark.CodeCheckExpired: "" +
		"A check is deleted a day after it was requested. Request another one.",
	// Budgets that refill over time; Retry-After states when.
	fieldmark.CodeDailyLimit: "" +
		"The offer of the account limits how many missions it creates a day, and a test world has a limit of " +
		"deliveries a day. Repeat the request after the time in Retry-After: the count starts again at 00:00 UTC. " +
		"GET /api/public/v1/account returns the limits and the use of an offer.",
	fieldmark.CodeOfferInUse: "Give the accounts that have the offer another one, then delete it.",
	fieldmark.CodeHostBudget: "" +
		"The number of audits of one site is limited, for all clients together. Repeat the request after the time in " +
		"Retry-After, which may be hours, or run fieldmark audit with the address.",
	fieldmark.CodeBodyTooLarge: "Send at most as many bytes as the member limit says.",
	// Refused by the listener or an edge, before a route
	fieldmark.CodeHTTPSRequired:        "Repeat the request with an https address.",
	fieldmark.CodeMisdirected:          "Use the address that the operator published, or ask them for a certificate.",
	fieldmark.CodeTooEarly:             "Repeat the request once the TLS handshake is complete.",
	fieldmark.CodeURITooLong:           "Shorten the address, most likely its query.",
	fieldmark.CodeUnsupportedMediaType: "Send Content-Type: application/json and an uncompressed body.",
	fieldmark.CodeValidationFailed: "" +
		"See errors. Each has a JSON Pointer (RFC 6901) to a part of the body and says what is required there. The" +
		" list is complete, so you can correct everything at once.",
	fieldmark.CodeInstructionLikeText: "" +
		"The text contains instructions for a language model. Describe the brand instead.",
	fieldmark.CodeNotAudited: "" +
		"Describe the brand in the request, ask the operator to register its site, or run fieldmark llms with its " +
		"address.",
	fieldmark.CodeIdempotencyReused: "" +
		"Use a new key for a new request. A repeated request must have the same method, address and body.",
	fieldmark.CodeHeadersTooLarge: "Send fewer or shorter headers.",
	// Errors of the server, after which the same request can be repeated
	fieldmark.CodeInternal: "" +
		"This is an error in the server. Repeat the request later. If it persists, report the requestId to the " +
		"operator.",
	fieldmark.CodeOriginUnavailable: "" +
		"Repeat the request after the time in Retry-After. Most reads continue to work in the meantime.",
	fieldmark.CodeOverloaded: "Repeat the request after the time in Retry-After.",
	fieldmark.CodeScoreNotLogged: "" +
		"A change of a score is in the public log about a second later. Repeat the request after the time in " +
		"Retry-After, or leave proof out.",
	fieldmark.CodeTimeout: "" +
		"Repeat the request. Creating a mission again is safe: the same source and externalId return the same " +
		"mission.",
}

// problem is a row of x-problems in the OpenAPI document. Edges make the page of the code of it,
// to which the type of a problem links.
// Its members are names in a published document: renaming one breaks clients.
type problem struct {
	Code   fieldmark.Code `json:"code"`
	Status int            `json:"status"`
	Title  string         `json:"title"`
	Remedy string         `json:"remedy"`
}

// problems returns all problems, by status and code.
// The order is that of the page on every node, so its ETag is the same.
func problems() []problem {
	// From Codes and not from remedies, so that a code without a remedy is seen by the test.
	all := make([]problem, 0, len(remedies))
	for _, code := range fieldmark.Codes() {
		all = append(all, problem{code, code.Status(), code.Title(), remedies[code]})
	}
	slices.SortFunc(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return all
}
