package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/slots"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/intake"
	"github.com/fieldmark/fieldmark/origin/mission"
)

const (
	// maxAlerts bounds the notifications that wait for the database. Others get 503: alerting tools retry a
	// 5xx, but drop a notification after a 429 or after their own timeout.
	maxAlerts = 32
	// maxAccountAlerts bounds those of one account. A notification with mode=alert may take a hundred transactions:
	// with all of maxAlerts one account could keep the alerts of every other one waiting.
	maxAccountAlerts = maxAlerts / 4
	// Long enough for the notifications in progress to be written.
	alertRetry = 2 * time.Second
)

// alertAPI receives notifications of alerting tools.
type alertAPI struct {
	missions *mission.Service
	slots    *slots.Slots[string] // of the notifications in progress, by account
}

func newAlertAPI(missions *mission.Service) *alertAPI {
	return &alertAPI{missions, slots.New[string](maxAlerts, maxAccountAlerts)}
}

// alertParams are the query parameters that control how alerts become missions.
var alertParams = []param{
	{name: "mode", description: "Create a mission for each group (default) or for each alert",
		enum: []string{"group", "alert"}},
	{name: "source", description: "The source of the missions; the default is alertmanager or grafana"},
	{name: "priority", description: "The priority of alerts without a severity; the default is MEDIUM",
		enum: fieldmark.PriorityNames()},
	{name: "cooldown", description: "How long an alert that fires again belongs to the mission that was closed for " +
		"it, such as 15m (default), at most 24h. An alert that fires longer creates a new mission"},
	{name: "onResolved",
		description: "What to do with a NEW mission whose alert is resolved: keep (default) or cancel. " +
			"If the alert fires again, a canceled mission is followed by a new one at once",
		enum: []string{"keep", "cancel"}},
	{name: "watchdog", description: "What to do with alerts that always fire (severity none, Watchdog): " +
		"ignore them (default) or open missions", enum: []string{"ignore", "open"}},
}

// sourceName matches the source of a mission.
// It is the pattern of the member source in the API.
var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,63}$`)

// receive turns a notification of an alerting tool into missions. The media type is not checked,
// because custom templates are often sent as text.
// source is that of the missions unless the request names another one.
func (a *alertAPI) receive(source string) func(*call) error {
	return func(c *call) error {
		o, err := c.alertOptions(source)
		if err != nil {
			return err
		}
		// Compressed bodies are refused as everywhere: a small one could unpack to gigabytes.
		if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
		}
		body, err := c.readBody()
		if err != nil {
			return err
		}
		// Both tools send the same form; Decode handles the differences.
		n, err := alert.Decode(body)
		if err != nil {
			return err
		}
		// A full queue is answered at once, so that the tool repeats the notification before
		// its own timeout.
		release, ok := a.slots.Acquire(c.key.Account)
		if !ok {
			return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: alertRetry,
				Detail: "too many notifications at once; send this one again"}
		}
		defer release()
		report, err := a.missions.ReceiveAlerts(c.r.Context(), c.key.Account, n, o)
		if fieldmark.IsCode(err, fieldmark.CodeDailyLimit) { // senders drop an alert after 429
			return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: alertRetry,
				Detail: "the account has created as many missions as its offer allows a day", Err: err}
		}
		if err != nil {
			return err
		}
		return c.send(http.StatusOK, report)
	}
}

// alertOptions reads the query parameters. The values of enumerations were checked already.
// They are in the address, because alerting tools send bodies of a fixed form.
func (c *call) alertOptions(source string) (mission.AlertOptions, error) {
	is := func(name, value string) bool { return strings.EqualFold(c.params.text(name), value) }
	o := mission.AlertOptions{Cooldown: mission.DefaultCooldown, CancelResolved: is("onResolved", "cancel")}
	// Watchdogs fire to prove that alerting works. As missions they would send a technician for nothing.
	o.Source, o.PerAlert, o.WatchdogAlerts = source, is("mode", "alert"), is("watchdog", "open")
	o.Priority, _ = fieldmark.ParsePriority(c.params.text("priority"))
	if name := c.params.text("source"); name != "" {
		if o.Source = name; !sourceName.MatchString(name) {
			return o, paramError("source", "pattern",
				"must have 1 to 64 letters, digits, spaces and . _ : / - and start with a letter or digit")
		}
	}
	if c.params.text("cooldown") == "" {
		return o, nil
	}
	var err error
	o.Cooldown, err = c.params.duration("cooldown", mission.MaxCooldown)
	return o, err
}

// routes turn the notifications of alerting tools into missions. Grafana contact points send POST
// or PUT.
func (a *alertAPI) routes() []*route {
	const path = fieldmark.PathAlerts
	create := key(fieldmark.ScopeMissionCreate)
	alertmanager := handleRaw[map[string]any, fieldmark.AlertReport](a.receive("alertmanager"))
	grafana := handleRaw[map[string]any, fieldmark.AlertReport](a.receive("grafana"))
	return []*route{
		{"POST", path + "alertmanager", create, alertmanager, operation{
			id: "takeAlertmanager", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive an Alertmanager notification (version 4); overload is 503, never 429"}},
		{"POST", path + "grafana", create, grafana, operation{
			id: "takeGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification (version 1); overload is 503, never 429"}},
		{"PUT", path + "grafana", create, grafana, operation{
			id: "putGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification from a contact point that uses PUT"}},
	}
}

// maxSpooledBody bounds a request that an edge accepted: the largest is a notification, whose bytes
// are in base 64.
const maxSpooledBody = fieldmark.MaxAlertBody*4/3 + fieldmark.MaxBody

// intakeAPI carries out the requests that edges accepted while no origin could be reached, as their
// routes do, and answers with the result of each.
type intakeAPI struct {
	*server
	intake *intake.Service
	routed map[string]*route // that edges accept requests for, by method and path
}

// newIntakeAPI selects the routes that an edge may accept for later: creating missions, whose repetition is harmless.
func newIntakeAPI(s *server, o *intake.Service, accepted []*route) *intakeAPI {
	a := &intakeAPI{server: s, intake: o, routed: map[string]*route{}}
	for _, rt := range accepted {
		if rt.method == http.MethodPost && rt.path == fieldmark.PathMissions ||
			strings.HasPrefix(rt.path, fieldmark.PathAlerts) {
			a.routed[rt.method+" "+rt.path] = rt
		}
	}
	return a
}

// routes: nodes hand requests over, and their senders read the decision under the id of the 202.
func (a *intakeAPI) routes() []*route {
	return []*route{
		{"POST", fieldmark.PathInternalIntake, node, handleCall[fieldmark.SpooledRequest](a.receive), operation{
			hidden: true, bodyLimit: maxSpooledBody}},
		{"GET", fieldmark.PathIntake + "{id}", key(fieldmark.ScopeMissionCreate), handleCall[none](a.get), operation{
			id: "getIntake", summary: "Get the result of a request that was accepted with 202; for " +
				strconv.Itoa(fieldmark.IntakeDays) + " days"}},
	}
}

// get returns the decision on a request of the caller's account. An edge answers for those that wait in it.
func (a *intakeAPI) get(c *call) (fieldmark.Intake, error) {
	return a.intake.Get(c.r.Context(), c.key.Account, c.r.PathValue("id"))
}

// receive carries a request out and stores the decision. It may be called any number of times: a
// mission is made once, by its idempotency key and its identifiers, and the first decision stays.
// An error means that there is no decision yet.
func (a *intakeAPI) receive(c *call) (fieldmark.Intake, error) {
	r, err := decodeBody[fieldmark.SpooledRequest](c)
	if err != nil {
		return fieldmark.Intake{}, err
	}
	// Decided already: the edge did not get the response and sends again.
	decided, err := a.intake.Get(c.r.Context(), "", r.ID)
	if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return decided, err
	}
	// The age and not the time of the edge, whose clock may differ.
	age := time.Duration(max(r.AgeMillis, 0)) * time.Millisecond
	now := time.Now()
	var d mission.Decision
	d.Key, d.Intake.Intake = r.Key, fieldmark.Intake{ID: r.ID, Source: r.Source, ExternalID: r.ExternalID,
		AcceptedAt: fieldmark.At(now.Add(-age))}
	if r.Failures > 0 {
		err = a.giveUp(c, &r, &d)
	} else {
		err = a.decide(c, &r, age, &d)
	}
	if err != nil {
		return fieldmark.Intake{}, err
	}
	if d.Stored {
		return d.Intake.Intake, nil
	}
	return a.intake.Decide(c.r.Context(), d.Intake)
}

// giveUp refuses a request that failed at each attempt, for the account of the key that sent it.
func (a *intakeAPI) giveUp(c *call, r *fieldmark.SpooledRequest, d *mission.Decision) error {
	k, err := a.keys.AuthenticateID(c.r.Context(), r.Key, access.ParseCaller(r.Client, r.Agent))
	if err != nil && fieldmark.AsError(err).Code == fieldmark.CodeInternal {
		return err
	}
	d.Account, d.State, d.Code = k.Account, fieldmark.IntakeRefused, fieldmark.CodeInternal
	d.Detail = fmt.Sprintf("it was given up after %d attempts that failed on our side; send it again", r.Failures)
	return nil
}

// decide runs a request as the key that sent it and fills in its decision.
func (a *intakeAPI) decide(c *call, r *fieldmark.SpooledRequest, age time.Duration, d *mission.Decision) error {
	inner, recorded, err := a.replay(c, r, age, d)
	if err == nil {
		// As of now: a key that was revoked since the edge accepted the request creates nothing.
		k, denied := a.keys.AuthenticateID(c.r.Context(), r.Key, access.ParseCaller(r.Client, r.Agent))
		d.Account, err = k.Account, denied
		if err == nil {
			err = a.authorize(inner, k)
		}
		if err == nil {
			err = a.dispatch(inner)
		}
	}
	if err != nil {
		// No decision: the edge keeps the request and sends it again.
		if e := fieldmark.AsError(err); e.Code == fieldmark.CodeInternal {
			return err
		}
		writeProblem(inner.w, inner.r, fieldmark.AsError(err))
	}
	if d.Stored {
		return nil // with the mission
	}
	status := inner.w.status
	var response struct {
		ID       string                   `json:"id"`
		Missions []fieldmark.AlertMission `json:"missions"`
		Code     fieldmark.Code           `json:"code"`
		Detail   string                   `json:"detail"`
	}
	if err := json.Unmarshal(recorded.body.Bytes(), &response); err != nil {
		return fmt.Errorf("carry out accepted request %s: its response with status %d: %w", r.ID, status, err)
	}
	switch {
	// States that pass. A decision is final, so none is made from them.
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests,
		response.Code == fieldmark.CodeIdempotencyInFlight, response.Code == fieldmark.CodeTooEarly:
		return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: alertRetry,
			Detail: "the request cannot be carried out now: " + string(response.Code)}
	case status >= http.StatusBadRequest:
		d.State, d.Code, d.Detail = fieldmark.IntakeRefused, response.Code, response.Detail
		return nil
	}
	d.State = fieldmark.IntakeMission
	if response.ID != "" {
		d.Missions = append(d.Missions, response.ID)
	}
	for _, m := range response.Missions {
		d.Missions = append(d.Missions, m.ID)
	}
	return nil
}

// replay makes the call of an accepted request. It is the same request to its route as if its sender had sent it
// to this origin, so that a sender who repeats it gets the saved response.
func (a *intakeAPI) replay(c *call, r *fieldmark.SpooledRequest, age time.Duration, d *mission.Decision) (*call,
	*recorder, error) {
	recorded := &recorder{header: http.Header{}}
	inner := &call{w: &responseWriter{ResponseWriter: recorded, base: c.w.base, requestID: c.w.requestID}, r: c.r,
		body: r.Body}
	ctx := mission.WithDecision(mission.WithAge(c.r.Context(), age), d)
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Target, bytes.NewReader(r.Body))
	if err != nil {
		return inner, recorded, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the request target is not valid")
	}
	req.RequestURI, req.RemoteAddr = r.Target, c.r.RemoteAddr
	req.Header.Set("Content-Type", r.ContentType)
	req.Header.Set("User-Agent", r.Agent)
	if r.IdempotencyKey != "" {
		req.Header.Set(fieldmark.HeaderIdempotencyKey, r.IdempotencyKey)
	}
	inner.r, inner.route = req, a.routed[r.Method+" "+req.URL.Path]
	switch {
	case !a.publicAPI:
		return inner, recorded, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "the public API is disabled")
	case inner.route == nil:
		return inner, recorded, fieldmark.Errorf(fieldmark.CodeNotFound, "no such address")
	}
	return inner, recorded, nil
}

// recorder is a http.ResponseWriter that keeps the body of a response.
type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {} // responseWriter keeps the status
