package fieldmark

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is the stable identifier of a kind of error. Clients branch on it, so codes are
// added but never renamed.
type Code string

// Error codes. codeTable contains their statuses and titles.
const (
	CodeMalformedJSON        Code = "malformed_json"
	CodeDuplicateMember      Code = "duplicate_member"
	CodeInvalidUTF8          Code = "invalid_utf8"
	CodeInvalidParameter     Code = "invalid_parameter"
	CodeMalformedRequest     Code = "malformed_request"
	CodeInvalidCursor        Code = "invalid_cursor"
	CodeInvalidIdempotency   Code = "invalid_idempotency_key"
	CodeMissingCredentials   Code = "missing_credentials"
	CodeInvalidAPIKey        Code = "invalid_api_key"
	CodeExpiredAPIKey        Code = "expired_api_key"
	CodeInvalidCredentials   Code = "invalid_credentials"
	CodeInsufficientScope    Code = "insufficient_scope"
	CodeIPNotAllowed         Code = "ip_not_allowed"
	CodeTestKey              Code = "test_key"
	CodeClockBackward        Code = "clock_backward"
	CodeClockAdvancing       Code = "clock_advancing"
	CodeWorldResetting       Code = "world_resetting"
	CodeKeyNotLive           Code = "key_not_live"
	CodeAgentNotAllowed      Code = "agent_not_allowed"
	CodeConfirmationInvalid  Code = "confirmation_invalid"
	CodeAgentQuota           Code = "agent_quota"
	CodeHTTPSRequired        Code = "https_required"
	CodeNotFound             Code = "not_found"
	CodeModuleDisabled       Code = "module_disabled"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeNotAcceptable        Code = "not_acceptable"
	CodeRequestTimeout       Code = "request_timeout"
	CodeMissionExists        Code = "mission_exists"
	CodeBrandExists          Code = "brand_exists"
	CodeDisputeExists        Code = "dispute_exists"
	CodeTooManyDisputes      Code = "too_many_disputes"
	CodeDisputeDecided       Code = "dispute_decided"
	CodeProofMissing         Code = "proof_missing"
	CodeClaimContested       Code = "claim_contested"
	CodeClaimState           Code = "claim_state"
	CodeRelistTooSoon        Code = "relist_too_soon"
	CodeBrandUnlisted        Code = "brand_unlisted"
	CodeRequestDecided       Code = "request_decided"
	CodeAccessState          Code = "access_request_state"
	CodeNoteExists           Code = "note_exists"
	CodeTooMany              Code = "too_many"
	CodeCDNByAddress         Code = "cdn_by_address"
	CodeAttachmentTooLarge   Code = "attachment_too_large"
	CodeDigestMismatch       Code = "digest_mismatch"
	CodeLinkExpired          Code = "link_expired"
	CodeInvalidOccurredAt    Code = "invalid_occurred_at"
	CodeInvalidTransition    Code = "invalid_transition"
	CodeIdempotencyInFlight  Code = "idempotency_in_progress"
	CodeCursorExpired        Code = "cursor_expired"
	CodeSinceTooOld          Code = "since_too_old"
	CodeDumpWithdrawn        Code = "dump_withdrawn"
	CodeCheckExpired         Code = "check_expired"
	CodeVersionMismatch      Code = "version_mismatch"
	CodeBodyTooLarge         Code = "body_too_large"
	CodeURITooLong           Code = "uri_too_long"
	CodeMisdirected          Code = "misdirected_request"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeValidationFailed     Code = "validation_failed"
	CodeInstructionLikeText  Code = "instruction_like_text"
	CodeNotAudited           Code = "not_audited"
	CodeIdempotencyReused    Code = "idempotency_key_reused"
	CodeModuleRefused        Code = "module_refused"
	CodeTooEarly             Code = "too_early"
	CodeRateLimited          Code = "rate_limited"
	CodeHostBudget           Code = "host_budget"
	CodeDailyLimit           Code = "daily_limit"
	CodeOfferInUse           Code = "offer_in_use"
	CodeHeadersTooLarge      Code = "headers_too_large"
	CodeInternal             Code = "internal"
	CodeOriginUnavailable    Code = "origin_unavailable"
	CodeOverloaded           Code = "overloaded"
	CodeScoreNotLogged       Code = "score_not_logged"
	CodeTimeout              Code = "timeout"
)

// codeTable maps each code to its status and title, which is the same for every
// occurrence (RFC 9457, section 3.1.3).
var codeTable = map[Code]struct {
	status int
	title  string
}{
	CodeMalformedJSON:        {http.StatusBadRequest, "The body is not valid JSON"},
	CodeDuplicateMember:      {http.StatusBadRequest, "A JSON object names the same member twice"},
	CodeInvalidUTF8:          {http.StatusBadRequest, "The body is not valid UTF-8"},
	CodeMalformedRequest:     {http.StatusBadRequest, "This is not an HTTP/1.1 request"},
	CodeInvalidParameter:     {http.StatusBadRequest, "A query parameter is not acceptable"},
	CodeInvalidCursor:        {http.StatusBadRequest, "The cursor was not issued by this server"},
	CodeInvalidIdempotency:   {http.StatusBadRequest, "The Idempotency-Key is not acceptable"},
	CodeMissingCredentials:   {http.StatusUnauthorized, "An API key is required"},
	CodeInvalidAPIKey:        {http.StatusUnauthorized, "The API key is not valid"},
	CodeExpiredAPIKey:        {http.StatusUnauthorized, "The API key has expired"},
	CodeInvalidCredentials:   {http.StatusUnauthorized, "The user name or password is wrong, or the session is over"},
	CodeInsufficientScope:    {http.StatusForbidden, "The API key lacks a scope"},
	CodeIPNotAllowed:         {http.StatusForbidden, "The API key may not be used from this address"},
	CodeTestKey:              {http.StatusForbidden, "A test key may not do this"},
	CodeClockBackward:        {http.StatusConflict, "A test clock cannot go back"},
	CodeClockAdvancing:       {http.StatusConflict, "The test clock is advancing"},
	CodeWorldResetting:       {http.StatusConflict, "The test world is being reset"},
	CodeKeyNotLive:           {http.StatusConflict, "The API key is not live"},
	CodeAgentNotAllowed:      {http.StatusForbidden, "The API key does not let agents do this"},
	CodeConfirmationInvalid:  {http.StatusPreconditionFailed, "The confirmation is not of this request"},
	CodeAgentQuota:           {http.StatusTooManyRequests, "The agent writes of the API key are used up for today"},
	CodeHTTPSRequired:        {http.StatusForbidden, "The request must use https"},
	CodeNotFound:             {http.StatusNotFound, "There is nothing here"},
	CodeModuleDisabled:       {http.StatusNotFound, "This part of the API is switched off"},
	CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, "The method is not allowed here"},
	CodeNotAcceptable:        {http.StatusNotAcceptable, "No offered media type is acceptable"},
	CodeRequestTimeout:       {http.StatusRequestTimeout, "The request took too long to arrive"},
	CodeMissionExists:        {http.StatusConflict, "A different mission has this source and externalId"},
	CodeBrandExists:          {http.StatusConflict, "A brand has this slug"},
	CodeDisputeExists:        {http.StatusConflict, "This finding is disputed already"},
	CodeTooManyDisputes:      {http.StatusConflict, "Too many disputes of this brand are open"},
	CodeDisputeDecided:       {http.StatusConflict, "The dispute is decided already"},
	CodeProofMissing:         {http.StatusConflict, "No proof of the claim was found"},
	CodeClaimContested:       {http.StatusConflict, "Another claim contests this brand"},
	CodeClaimState:           {http.StatusConflict, "The state of the claim does not allow this"},
	CodeRelistTooSoon:        {http.StatusConflict, "The brand was unlisted too recently"},
	CodeBrandUnlisted:        {http.StatusConflict, "The brand is not listed"},
	CodeRequestDecided:       {http.StatusConflict, "The request is decided already"},
	CodeAccessState:          {http.StatusConflict, "The state of the request does not allow this"},
	CodeNoteExists:           {http.StatusConflict, "A different note has this externalId"},
	CodeTooMany:              {http.StatusConflict, "A limit of the number of objects is reached"},
	CodeCDNByAddress:         {http.StatusConflict, "This cache cannot be purged of everything"},
	CodeAttachmentTooLarge:   {http.StatusRequestEntityTooLarge, "The attachment is too large"},
	CodeDigestMismatch:       {http.StatusBadRequest, "The content does not match its digest"},
	CodeInvalidTransition:    {http.StatusConflict, "The mission cannot move to that status"},
	CodeIdempotencyInFlight:  {http.StatusConflict, "A request with this Idempotency-Key is being answered"},
	CodeVersionMismatch:      {http.StatusPreconditionFailed, "The resource has changed since"},
	CodeCursorExpired:        {http.StatusGone, "The cursor's snapshot is no longer kept"},
	CodeSinceTooOld:          {http.StatusGone, "The changes since this event are no longer known"},
	CodeDumpWithdrawn:        {http.StatusGone, "The dump was withdrawn"},
	CodeCheckExpired:         {http.StatusGone, "The check is no longer kept"},
	CodeLinkExpired:          {http.StatusGone, "The link has ended"},
	CodeInvalidOccurredAt:    {http.StatusUnprocessableEntity, "The time of the device does not fit"},
	CodeBodyTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large"},
	CodeURITooLong:           {http.StatusRequestURITooLong, "The address is too long"},
	CodeMisdirected:          {http.StatusMisdirectedRequest, "This server does not answer for that host"},
	CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, "The body's media type is not supported"},
	CodeValidationFailed:     {http.StatusUnprocessableEntity, "The request has invalid fields"},
	CodeInstructionLikeText:  {http.StatusUnprocessableEntity, "The text reads as instructions to a model"},
	CodeNotAudited:           {http.StatusUnprocessableEntity, "No audit of this site is known"},
	CodeIdempotencyReused:    {http.StatusUnprocessableEntity, "This Idempotency-Key came with another request"},
	CodeModuleRefused:        {http.StatusUnprocessableEntity, "The scoring module may not be activated"},
	CodeTooEarly:             {http.StatusTooEarly, "The request may be a replay"},
	CodeRateLimited:          {http.StatusTooManyRequests, "Too many requests"},
	CodeDailyLimit:           {http.StatusTooManyRequests, "The account has used its limit of the day"},
	CodeOfferInUse:           {http.StatusConflict, "Accounts have this offer"},
	CodeHostBudget:           {http.StatusTooManyRequests, "This site has been audited often enough for now"},
	CodeHeadersTooLarge:      {http.StatusRequestHeaderFieldsTooLarge, "The header fields are too large"},
	CodeInternal:             {http.StatusInternalServerError, "Something went wrong on our side"},
	CodeOriginUnavailable:    {http.StatusServiceUnavailable, "The origin cannot be reached"},
	CodeOverloaded:           {http.StatusServiceUnavailable, "The server is busy"},
	CodeScoreNotLogged:       {http.StatusServiceUnavailable, "The public log does not have this score yet"},
	CodeTimeout:              {http.StatusGatewayTimeout, "The origin did not answer in time"},
}

// Codes returns every code in unspecified order.
func Codes() []Code {
	all := make([]Code, 0, len(codeTable))
	for c := range codeTable {
		all = append(all, c)
	}
	return all
}

// Status returns the HTTP status of c; an unknown code is a 500.
func (c Code) Status() int {
	if row, ok := codeTable[c]; ok {
		return row.status
	}
	return http.StatusInternalServerError
}

// Title returns the title of c.
func (c Code) Title() string {
	if row, ok := codeTable[c]; ok {
		return row.title
	}
	return codeTable[CodeInternal].title
}

// Error is the only error whose text clients see. Every other error becomes CodeInternal
// with a request id.
type Error struct {
	Code   Code
	Detail string       // explanation; never contains a rejected value
	Fields []FieldError // all invalid members of the request

	// MissionID, From, To, Allowed, Limit and Scope are extension members of the
	// problem document, used by some codes.
	MissionID string
	From, To  MissionStatus // of an invalid transition
	Allowed   []string      // allowed statuses
	Limit     int64         // in bytes, for CodeBodyTooLarge
	Scope     Scope         // missing scope, for CodeInsufficientScope

	Tried      []ClaimAttempt // proofs that were looked for, for CodeProofMissing
	RetryAfter time.Duration  // zero: no Retry-After
	Err        error          // cause; logged, never sent
}

// FieldError is an error of one member of a request.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901), or ?name for a query parameter
	// required, unknown_field, too_long, too_short, pattern, enum, range, format, conflict
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Line and Column are of the request body, from 1, if it is a text for people, such as a scorecard.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Errorf returns an Error with a formatted detail.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Error returns code, detail and cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	for _, f := range e.Fields {
		b.WriteString("; " + f.Pointer + " " + f.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error. Another error becomes CodeInternal with err as its
// cause; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Err: err}
}

// IsCode reports whether err has the given code.
func IsCode(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// ProblemType is the media type of a Problem (RFC 9457, section 6.1).
const ProblemType = "application/problem+json"

// Problem is the wire format of an Error (RFC 9457).
type Problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	Instance  string         `json:"instance,omitempty"`
	Code      Code           `json:"code"`
	RequestID string         `json:"requestId,omitempty"`
	Errors    []FieldError   `json:"errors,omitempty"`
	MissionID string         `json:"missionId,omitempty"`
	From      MissionStatus  `json:"from,omitempty"`
	To        MissionStatus  `json:"to,omitempty"`
	Allowed   []string       `json:"allowed,omitempty"`
	Limit     int64          `json:"limit,omitempty"`
	Tried     []ClaimAttempt `json:"tried,omitempty"`
}

// MaxFieldErrors limits the field errors of a response, so that a body with thousands of
// invalid members does not cause a larger response.
const MaxFieldErrors = 50

// Problem returns the wire format of e with the request id. Base is the public URL of the
// deployment without a trailing slash; without it the type is a relative reference. An internal error has no
// detail: its text is for the log, and may contain parts of queries or addresses.
func (e *Error) Problem(base, requestID string) Problem {
	p := Problem{
		Type:      base + "/problems/" + string(e.Code),
		Title:     e.Code.Title(),
		Status:    e.Code.Status(),
		Detail:    e.Detail,
		Code:      e.Code,
		RequestID: requestID,
		Errors:    e.Fields,
		MissionID: e.MissionID,
		From:      e.From,
		To:        e.To,
		Allowed:   e.Allowed,
		Limit:     e.Limit,
		Tried:     e.Tried,
	}
	if e.Code == CodeInternal {
		p.Detail = ""
	}
	if len(p.Errors) > MaxFieldErrors {
		p.Errors = p.Errors[:MaxFieldErrors]
	}
	if requestID != "" {
		p.Instance = "urn:fieldmark:request:" + requestID
	}
	return p
}

// Err returns the Error of a received problem document.
func (p Problem) Err() *Error {
	return &Error{
		Code: p.Code, Detail: p.Detail, Fields: p.Errors,
		MissionID: p.MissionID, From: p.From, To: p.To, Allowed: p.Allowed, Limit: p.Limit, Tried: p.Tried,
	}
}
