package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/api"
)

const goodMission = `{"externalId":"1","source":"crm","title":"Mast"}`

// secret is the invalid value in each request; no response may contain it.
const secret = "hunter2-hunter2"

func TestErrors(t *testing.T) {
	fx := newFixture(t, nil)
	big := `{"externalId":"1","source":"crm","title":"` + strings.Repeat("x", fieldmark.MaxBody) + `"}`
	deep := `{"externalId":"1","source":"crm","title":"t","metadata":` + strings.Repeat("[", 40) + strings.Repeat("]",
		40) + `}`
	post := func(body string) request {
		return request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body}
	}
	with := func(a request, name, value string) request { a.header = map[string]string{name: value}; return a }
	tests := []struct {
		name   string
		ask    request
		status int
		code   fieldmark.Code
		fields []string // pointer and code of each validation error
	}{
		{"empty body", with(post(""), "Content-Type", "application/json"), 400, fieldmark.CodeMalformedJSON, nil},
		{"only space", post(" \n"), 400, fieldmark.CodeMalformedJSON, nil},
		{"not JSON", post(`{"title":` + secret + `}`), 400, fieldmark.CodeMalformedJSON, nil},
		{"cut off", post(`{"title":"` + secret), 400, fieldmark.CodeMalformedJSON, nil},
		{"single quotes", post(`{'title':1}`), 400, fieldmark.CodeMalformedJSON, nil},
		{"trailing comma", post(`{"title":"x",}`), 400, fieldmark.CodeMalformedJSON, nil},
		{"comment", post("{}//x"), 400, fieldmark.CodeMalformedJSON, nil},
		{"NaN", post(`{"estimatedMinutes":NaN}`), 400, fieldmark.CodeMalformedJSON, nil},
		{"trailing data", post(goodMission + goodMission), 400, fieldmark.CodeMalformedJSON, nil},
		{"trailing brace", post(goodMission + "}"), 400, fieldmark.CodeMalformedJSON, nil},
		{"byte order mark", post("\ufeff" + goodMission), 400, fieldmark.CodeMalformedJSON, nil},
		{"too deep", post(deep), 400, fieldmark.CodeMalformedJSON, nil},
		{"lone surrogate", post(`{"externalId":"1","source":"crm","title":"\ud800"}`), 400, fieldmark.CodeMalformedJSON,
			nil},
		{"duplicate member", post(`{"externalId":"1","source":"crm","title":"a","title":"` + secret + `"}`), 400,
			fieldmark.CodeDuplicateMember, []string{"/title duplicate"}},
		{"duplicate in depth", post(`{"externalId":"1","source":"crm","title":"a","labels":{"k":"1","\u006b":"2"}}`),
			400,
			fieldmark.CodeDuplicateMember, []string{"/labels/k duplicate"}},
		{"invalid UTF-8", post("{\"externalId\":\"1\",\"source\":\"crm\",\"title\":\"\xff\"}"), 400,
			fieldmark.CodeInvalidUTF8, nil},

		{"too large", post(big), 413, fieldmark.CodeBodyTooLarge, nil},
		{"no media type", with(post(goodMission), "Content-Type", ""), 415, fieldmark.CodeUnsupportedMediaType, nil},
		{"form", with(post(goodMission), "Content-Type", "application/x-www-form-urlencoded"), 415,
			fieldmark.CodeUnsupportedMediaType, nil},
		{"text", with(post(goodMission), "Content-Type", "text/plain"), 415, fieldmark.CodeUnsupportedMediaType, nil},
		{"other charset", with(post(goodMission), "Content-Type", "application/json; charset=latin1"), 415,
			fieldmark.CodeUnsupportedMediaType, nil},
		{"gzip", with(post(goodMission), "Content-Encoding", "gzip"), 415, fieldmark.CodeUnsupportedMediaType, nil},

		{"nothing in it", post(`{}`), 422, fieldmark.CodeValidationFailed, []string{"/externalId required",
			"/source required", "/title required"}},
		{"not an object", post(`[1]`), 422, fieldmark.CodeValidationFailed, []string{" format"}},
		{"null", post(`null`), 422, fieldmark.CodeValidationFailed, []string{" format"}},
		{"unknown field", post(`{"externalId":"1","source":"crm","title":"t","titel":"` + secret + `"}`), 422,
			fieldmark.CodeValidationFailed, []string{"/titel unknown_field"}},
		{"wrong case", post(`{"externalId":"1","source":"crm","Title":"t"}`), 422, fieldmark.CodeValidationFailed,
			[]string{"/Title unknown_field", "/title required"}},
		{"awkward name", post(`{"externalId":"1","source":"crm","title":"t","a/b~c.d[0]":1}`), 422,
			fieldmark.CodeValidationFailed, []string{"/a~1b~0c.d[0] unknown_field"}},
		{"wrong type", post(`{"externalId":1,"source":"crm","title":"t"}`), 422, fieldmark.CodeValidationFailed,
			[]string{"/externalId format"}},
		{"too long", post(`{"externalId":"1","source":"crm","title":"` + strings.Repeat("ä", 201) + `"}`), 422,
			fieldmark.CodeValidationFailed, []string{"/title too_long"}},
		{"too short", post(`{"externalId":"","source":"crm","title":"t"}`), 422, fieldmark.CodeValidationFailed,
			[]string{"/externalId too_short"}},
		{"pattern", post(`{"externalId":"1","source":"` + "!" + secret + `","title":"t"}`), 422,
			fieldmark.CodeValidationFailed, []string{"/source pattern"}},
		{"enum", post(`{"externalId":"1","source":"crm","title":"t","priority":"` + secret + `"}`), 422,
			fieldmark.CodeValidationFailed, []string{"/priority enum"}},
		{"range", post(`{"externalId":"1","source":"crm","title":"t","estimatedMinutes":4}`), 422,
			fieldmark.CodeValidationFailed, []string{"/estimatedMinutes range"}},
		{"not whole", post(`{"externalId":"1","source":"crm","title":"t","estimatedMinutes":5.5}`), 422,
			fieldmark.CodeValidationFailed, []string{"/estimatedMinutes format"}},
		{"beyond numbers", post(`{"externalId":"1","source":"crm","title":"t","estimatedMinutes":1` +
			strings.Repeat("0",
				400) + `}`), 422, fieldmark.CodeValidationFailed, []string{"/estimatedMinutes range"}},
		{"format", post(`{"externalId":"1","source":"crm","title":"t","contact":{"email":"` + secret + `"}}`), 422,
			fieldmark.CodeValidationFailed, []string{"/contact/email format"}},
		{"time", post(`{"externalId":"1","source":"crm","title":"t","window":{"earliest":"` + secret +
			`","latest":"2026-01-01T00:00:00Z"}}`), 422, fieldmark.CodeValidationFailed,
			[]string{"/window/earliest format"}},
		{"window backwards",
			post(`{"externalId":"1","source":"crm","title":"t","window":{"earliest":"2026-01-02T00:00:00Z",` +
				`"latest":"2026-01-01T00:00:00Z"}}`), 422, fieldmark.CodeValidationFailed,
			[]string{"/window/latest range"}},
		{"item",
			post(`{"externalId":"1","source":"crm","title":"t","links":[{"href":"https://a.example"},` +
				`{"href":"javascript:1"},{}]}`), 422, fieldmark.CodeValidationFailed, []string{"/links/1/href pattern",
				"/links/2/href required"}},
		{"unknown zone", post(`{"externalId":"1","source":"crm","title":"t","location":{"timeZone":"Mars/Olympus"}}`),
			422,
			fieldmark.CodeValidationFailed, []string{"/location/timeZone enum"}},
		{
			"everything at once",
			post(`{"externalId":" x","source":7,"priority":"soon","Title":"t","location":{"timeZone":"nowhere",` +
				`"geo":{"lat":91},"address":{"country":"de"}},"metadata":[],"skills":["ok",""]}`),
			422, fieldmark.CodeValidationFailed,
			[]string{
				"/Title unknown_field", "/externalId pattern", "/location/address/country " +
					"pattern", "/location/geo/lat " +
					"range", "/location/geo/lng required",
				"/location/timeZone format", "/metadata format", "/priority enum", "/skills/1 too_short",
				"/source format",
				"/title required",
			},
		},

		{"no key", request{method: "POST", path: fieldmark.PathMissions, body: goodMission}, 401,
			fieldmark.CodeMissingCredentials, nil},
		{"other scheme", with(request{method: "POST", path: fieldmark.PathMissions, body: goodMission}, "Authorization",
			"Basic eDp5"), 401, fieldmark.CodeMissingCredentials, nil},
		{"no such key", request{method: "POST", path: fieldmark.PathMissions, key: secret, body: goodMission}, 401,
			fieldmark.CodeInvalidAPIKey, nil},
		{"key with a typing error", request{method: "POST", path: fieldmark.PathMissions,
			key: fx.creator[:len(fx.creator)-1] +
				"_", body: goodMission}, 401, fieldmark.CodeInvalidAPIKey, nil},
		{"key before body", request{method: "POST", path: fieldmark.PathMissions, body: "{"}, 401,
			fieldmark.CodeMissingCredentials, nil},
		{"wrong scope", request{method: "POST", path: fieldmark.PathMissions, key: fx.reader, body: goodMission}, 403,
			fieldmark.CodeInsufficientScope, nil},
		{"mission key for administration", request{method: "GET", path: "/api/admin/v1/keys", key: fx.creator}, 403,
			fieldmark.CodeInsufficientScope, nil},
		{"administrator without scope", request{method: "GET", path: fieldmark.PathMissions, key: fx.admin}, 403,
			fieldmark.CodeInsufficientScope, nil},
		{"API key for a node", request{method: "GET", path: fieldmark.PathInternalFacts, key: fx.admin}, 401,
			fieldmark.CodeInvalidAPIKey, nil},
		{"node without token", request{method: "GET", path: fieldmark.PathInternalEvents}, 401,
			fieldmark.CodeMissingCredentials, nil},

		{"unknown path", request{method: "GET", path: "/api/public/v1/mission"}, 404, fieldmark.CodeNotFound, nil},
		{"root", request{method: "GET", path: "/"}, 404, fieldmark.CodeNotFound, nil},
		{"doubled slash", request{method: "GET", path: "/api//public/v1/missions", key: fx.reader}, 404,
			fieldmark.CodeNotFound,
			nil},
		{"climbing path", request{method: "GET", path: "/api/public/v1/../../admin/v1/keys", key: fx.admin}, 404,
			fieldmark.CodeNotFound, nil},
		{"malformed id", request{method: "GET", path: fieldmark.PathMissions + "/42", key: fx.reader}, 404,
			fieldmark.CodeNotFound, nil},
		{"unknown id", request{method: "GET", path: fieldmark.PathMissions + "/msn_00000000000000000000000000",
			key: fx.reader},
			404, fieldmark.CodeNotFound, nil},
		{"wrong method", request{method: "DELETE", path: fieldmark.PathMissions, key: fx.creator}, 405,
			fieldmark.CodeMethodNotAllowed, nil},
		{"wrong method below", request{method: "POST", path: fieldmark.PathMissions + "/msn_x", key: fx.creator}, 405,
			fieldmark.CodeMethodNotAllowed, nil},
		{"long address", request{method: "GET", path: fieldmark.PathMissions + "?cursor=" + strings.Repeat("x", 9000),
			key: fx.reader}, 414, fieldmark.CodeURITooLong, nil},

		{"unknown parameter", request{method: "GET", path: fieldmark.PathMissions + "?sauce=crm&limit=0&status=LOST",
			key: fx.reader}, 400, fieldmark.CodeInvalidParameter, []string{"?limit range", "?sauce unknown_field",
			"?status enum"}},
		{"parameter where none is", request{method: "POST", path: fieldmark.PathMissions + "?dry=1", key: fx.creator,
			body: goodMission}, 400, fieldmark.CodeInvalidParameter, []string{"?dry unknown_field"}},
		{"parameter twice", request{method: "GET", path: fieldmark.PathMissions + "?source=a&source=b", key: fx.reader},
			400,
			fieldmark.CodeInvalidParameter, []string{"?source format"}},
		{"broken query", request{method: "GET", path: fieldmark.PathMissions + "?source=%zz", key: fx.reader}, 400,
			fieldmark.CodeInvalidParameter, nil},
		{"limit too high", request{method: "GET", path: fieldmark.PathMissions + "?limit=201", key: fx.reader}, 400,
			fieldmark.CodeInvalidParameter, []string{"?limit range"}},
		{"made-up cursor", request{method: "GET", path: fieldmark.PathMissions + "?cursor=abc", key: fx.reader}, 400,
			fieldmark.CodeInvalidCursor, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := fx.send(tt.ask)
			p := fx.problem(rec)
			if rec.Code != tt.status || p.Code != tt.code {
				t.Errorf("%s %s %.200s: %d %s, want %d %s: %s", tt.ask.method, tt.ask.path, tt.ask.body, rec.Code,
					p.Code,
					tt.status, tt.code, rec.Body)
			}
			var got []string
			for _, f := range p.Errors {
				got = append(got, f.Pointer+" "+f.Code)
				if f.Detail == "" {
					t.Errorf("%s %s has no detail", f.Pointer, f.Code)
				}
			}
			if diff := cmp.Diff(tt.fields, got); diff != "" {
				t.Errorf("complaints about %.200s (-want +got):\n%s", tt.ask.body, diff)
			}
			if strings.Contains(rec.Body.String(), secret) {
				t.Errorf("the answer repeats a rejected value: %s", rec.Body)
			}
		})
	}
	if n := fx.missions(); n != 0 {
		t.Errorf("%d missions are stored after refusals only, want 0", n)
	}
	if log := fx.log.String(); strings.Contains(log, secret) || strings.Contains(log, fx.creator) {
		t.Errorf("the log holds what is not its own: %s", log)
	}
}

func TestErrorHeaders(t *testing.T) {
	fx := newFixture(t, nil)
	tests := []struct {
		name        string
		ask         request
		field, want string
	}{
		{"no key", request{method: "GET", path: fieldmark.PathMissions}, "WWW-Authenticate", `Bearer realm="missions"`},
		{"bad key", request{method: "GET", path: fieldmark.PathMissions, key: "x"}, "WWW-Authenticate",
			`Bearer realm="missions", error="invalid_token"`},
		{"scope", request{method: "GET", path: fieldmark.PathMissions, key: fx.creator}, "WWW-Authenticate",
			`Bearer realm="missions", error="insufficient_scope", scope="mission:read"`},
		{"method", request{method: "PATCH", path: fieldmark.PathMissions}, "Allow", "GET, HEAD, POST"},
		{"method of one", request{method: "PUT", path: fieldmark.PathMissions + "/x"}, "Allow", "GET, HEAD, PATCH"},
		{"options", request{method: "OPTIONS", path: fieldmark.PathLLMs}, "Allow", "POST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := fx.send(tt.ask)
			if got := rec.Header().Get(tt.field); got != tt.want {
				t.Errorf("%s %s: %s = %q, want %q", tt.ask.method, tt.ask.path, tt.field, got, tt.want)
			}
		})
	}
	rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: strings.Repeat(" ",
		fieldmark.MaxBody) + goodMission})
	if p := fx.problem(rec); p.Limit != fieldmark.MaxBody {
		t.Errorf("limit of a body that is too large = %d, want %d", p.Limit, fieldmark.MaxBody)
	}
}

func TestModuleDisabled(t *testing.T) {
	fx := newFixture(t, func(cfg *api.Config) { cfg.PublicAPI = false })
	for _, a := range []request{
		{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission},
		{method: "GET", path: fieldmark.PathMissions},
		{method: "DELETE", path: "/api/public/v2/anything"},
	} {
		rec := fx.send(a)
		if p := fx.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeModuleDisabled {
			t.Errorf("%s %s: %d %s, want 404 module_disabled", a.method, a.path, rec.Code, p.Code)
		}
	}
	if n := fx.missions(); n != 0 {
		t.Errorf("%d missions are stored, want 0", n)
	}
	fx.mustSend(200, request{method: "GET", path: "/api/admin/v1/missions", key: fx.admin}, nil)
}

func TestExpiredAndRevokedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		a := request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission}
		time.Sleep(30*24*time.Hour + time.Second)
		rec := fx.send(a)
		if p := fx.problem(rec); rec.Code != 401 || p.Code != fieldmark.CodeExpiredAPIKey {
			t.Errorf("expired key: %d %s, want 401 expired_api_key", rec.Code, p.Code)
		}
		if got := rec.Header().Get("WWW-Authenticate"); !strings.Contains(got, "invalid_token") {
			t.Errorf("expired key: WWW-Authenticate = %q, want invalid_token in it", got)
		}

		a.key = fx.key("default", fieldmark.ScopeMissionCreate)
		keys, err := fx.service.Access.Keys.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if _, err := fx.service.Access.Keys.Revoke(t.Context(), k.ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		rec = fx.send(a)
		if p := fx.problem(rec); rec.Code != 401 || p.Code != fieldmark.CodeInvalidAPIKey {
			t.Errorf("revoked key: %d %s, want 401 invalid_api_key", rec.Code, p.Code)
		}
		if n := fx.missions(); n != 0 {
			t.Errorf("%d missions are stored, want 0", n)
		}
	})
}

// TestInternalError closes the database while the API runs: the log contains the cause,
// the response does not.
func TestInternalError(t *testing.T) {
	fx := newFixture(t, nil)
	fx.store.Close()
	rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: goodMission,
		header: map[string]string{fieldmark.HeaderRequestID: "caller-id.01"}})
	p := fx.problem(rec)
	if rec.Code != http.StatusInternalServerError || p.Code != fieldmark.CodeInternal || p.Detail != "" {
		t.Errorf("closed database: %d %+v, want a 500 that says nothing", rec.Code, p)
	}
	if p.RequestID != "caller-id.01" {
		t.Errorf("request id = %q, want the one that was sent", p.RequestID)
	}
	if log := fx.log.String(); !strings.Contains(log, "closed") || !strings.Contains(log, "caller-id.01") {
		t.Errorf("the log tells neither cause nor id: %s", log)
	}
}

func TestRequestIDs(t *testing.T) {
	fx := newFixture(t, nil)
	for _, bad := range []string{"", "short", "has space in it", strings.Repeat("x", 129), "line\x00break"} {
		rec := fx.send(request{method: "GET", path: "/", header: map[string]string{fieldmark.HeaderRequestID: bad}})
		if got := rec.Header().Get(fieldmark.HeaderRequestID); got == bad || !fieldmark.ValidRequestID(got) {
			t.Errorf("request id %q: answered %q, want a new one", bad, got)
		}
	}
}

func TestClientAddress(t *testing.T) {
	fx := newFixture(t, nil)
	for _, tt := range []struct{ name, node, claim, want string }{
		{"edge", nodeToken, "2001:db8::7", "client=2001:db8::7"},
		{"liar", "guess", "2001:db8::7", "client=192.0.2.1"},
		{"edge with nonsense", nodeToken, "nobody", "client=192.0.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fx.log.Reset()
			fx.send(request{method: "GET", path: "/", header: map[string]string{
				fieldmark.HeaderClient: tt.claim, fieldmark.HeaderNode: tt.node,
				"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			}})
			log := fx.log.String()
			if !strings.Contains(log, tt.want) || !strings.Contains(log, "trace=0af7651916cd43dd8448eb211c80319c") {
				t.Errorf("log line %q, want %q and the trace in it", log, tt.want)
			}
		})
	}
}
