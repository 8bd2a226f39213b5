package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// unkeyed are the POST operations that do not change state, and those that need no key: a
// response is saved for the account of a key.
var unkeyed = []string{"generateLLMsTxt", "lintLLMsTxt", "openDispute", "requestCheck", "openClaim", "verifyClaim",
	"accessClaim", "withdrawClaim", "openAccessRequest", "issueKey", "getScores"}

// bodies returns a request body for every write operation of the API description.
func bodies(url string) map[string]string {
	hook := fmt.Sprintf(`{"url":%q}`, url)
	const mission = `{"source":"crm","externalId":"idem","title":"Mast"}`
	const policy = `{"responseMinutes":60,"onsiteMinutes":120,"resolutionMinutes":240,"calendar":"24x7"}`
	const alerts = `{"version":"4","groupKey":"g","status":"firing","receiver":"r","alerts":[{"status":"firing",` +
		`"labels":{"alertname":"A"},"annotations":{},"startsAt":"2026-11-21T10:00:00Z","fingerprint":"f1"}]}`
	return map[string]string{
		"putAccount": `{"name":"Acme"}`, "importBrands": `[{"slug":"new-one","name":"New",` +
			`"url":"https://new.example/",` +
			`"niche":"tools","language":"en"}]`, "deleteBrand": "",
		"putBrand":             `{"name":"B","url":"https://b.example/","niche":"tools","language":"en"}`,
		"decideDispute":        `{"state":"rejected","answer":"No."}`,
		"approveAccessRequest": `{"account":"approved","newAccount":true,"scopes":["mission:read"]}`,
		"declineAccessRequest": `{"reason":"No."}`,
		"setAliases":           `{"aliases":["other-name"]}`, "auditBrand": "",
		"renameBrand": `{"slug":"renamed"}`, "createCalendar": `{"name":"c","scope":"ALL"}`, "revokeCalendar": "",
		"rotateCalendar": "", "rotatePublicLogKey": "",
		"putOffer": `{"name":"O","kind":"standard"}`, "deleteOffer": "",
		"putCDN": fmt.Sprintf(`{"kind":"template","urls":[%q],"body":"{keys}"}`, url), "deleteCDN": "", "testCDN": "",
		"purgeCDN":         "",
		"createSubAccount": `{"id":"shop","name":"Shop"}`, "putSubAccount": `{"name":"Shop 2"}`,
		"createSubAccountKey": `{"name":"k","scopes":["mission:read"]}`, "revokeSubAccountKey": "",
		"deleteSubAccount": "",
		"createTestKey":    `{"name":"k"}`, "revokeTestKey": "", "resetTestWorld": "",
		"advanceTestClock": fmt.Sprintf(`{"now":%q}`, fieldmark.At(time.Now().Add(time.Hour))),
		"createKey":        `{"name":"k","scopes":["mission:read"]}`, "revokeKey": "", "rotateKey": "",
		"createTechnicianLink": `{"assignee":{"id":"bob"}}`, "rotateTechnicianLink": "", "revokeTechnicianLink": "",
		"completeMission": "",
		"setPayment":      `{"amount":{"value":100,"currency":"EUR"}}`, "moveAnyMission": `{"status":"DISPATCHED"}`,
		"pushModule":     `{"name":"m","version":"1","module":"AGFzbQ=="}`,
		"rollBackModule": "", "activateModule": `{}`, "previewModule": "", "refundPayment": `{"amount":1,` +
			`"reference":"r"}`, "markPayment": `{"status":"PAID"}`,
		"importCertificate": `{"chain":"x","key":"x"}`, "renewCertificate": "", "removeCertificate": "",
		"purge": `{"everything":true}`, "deleteSLACalendar": "", "putSLACalendar": `{"timeZone":"UTC",` +
			`"hours":[{"days":["MON"],"from":"08:00","to":"18:00"}]}`,
		"resetSLAPolicy": "", "patchSLAPolicy": `{"responseMinutes":61}`, "putSLAPolicy": policy,
		"importVisibility": `[]`, "putProxy": `{"values":[]}`,
		"createEndpoint": hook, "deleteEndpoint": "", "patchEndpoint": `{"description":"d"}`,
		"resendEndpointDelivery": "", "replayEndpoint": `{"afterEvent":0}`,
		"rotateEndpointSecret": "", "testEndpoint": "", "createWebhook": hook, "deleteWebhook": "",
		"createPortalLink": `{}`, "patchWebhook": `{"description":"d"}`, "resendWebhookDelivery": "",
		"replayWebhook": `{"afterEvent":0}`, "rotateWebhookSecret": "", "testWebhook": "",
		"takeAlertmanager": alerts, "takeGrafana": strings.Replace(alerts, `"4"`, `"1"`,
			1), "putGrafana": strings.Replace(alerts, `"4"`, `"1"`, 1),
		"openMission": mission, "openMissions": `{"missions":[` + mission + `]}`, "editMission": `{"description":"d"}`,
		"cancelMission":    "",
		"retireSigningKey": "", "rotateSigningKey": "", "revokeClaim": `{"reason":"r"}`, "transferClaim": "",
		"objectClaim": "", "patchProfile": `{"niche":"makers"}`, "setWishes": `{"checks":false,"pause":2}`,
		"setListing": `{"listed":false}`, "withdrawDispute": "", "decideBrandRequest": `{"state":"approved"}`,
		"requestAliases": `{"names":["other"]}`, "auditOwnBrand": "",
		"addNote": `{"text":"The key is at the reception."}`, "redactNote": "",
		"addAttachment": "The key is at the reception.", "removeAttachment": "",
		"planMission": `{"assignee":{"id":"ann","name":"Ann"}}`, "moveMission": `{"status":"DISPATCHED"}`,
	}
}

// offersPut numbers offers, CDNs and sub-accounts.
var offersPut atomic.Int64

// idempotentLinks counts links: an assignee has one.
var idempotentLinks atomic.Int64

// unsaved are the writes that this origin rejects with a response that is not saved,
// because it has no module to check, activate or roll back to, no certificate, no https
// address for which to sign requests, and neither note nor attachment.
var unsaved = []string{"pushModule", "activateModule", "previewModule", "rollBackModule", "importVisibility",
	"importCertificate", "renewCertificate", "removeCertificate", "retireSigningKey", "rotateSigningKey", "redactNote",
	"rotatePublicLogKey",
	"removeAttachment"}

// operation is what the tests of all writes need of the API description.
type operation struct {
	OperationID string
	Parameters  []struct{ Name string }
}

func (o operation) takes(parameter string) bool {
	return slices.ContainsFunc(o.Parameters, func(p struct{ Name string }) bool { return p.Name == parameter })
}

// describedOperations returns the operations of the API description, by their paths and methods.
func describedOperations(t *testing.T) map[string]map[string]operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]operation
	}
	if b, err := os.ReadFile("testdata/openapi.json"); err != nil || json.Unmarshal(b, &doc) != nil {
		t.Fatalf("read the API description: %v", err)
	}
	return doc.Paths
}

// worldKey creates an account with a test world for one operation, and returns a test key of it. A world
// that is being reset, or whose clock advances, rejects other writes of the kind.
func (fx *fixture) worldKey(operation string) string {
	fx.t.Helper()
	account := strings.ToLower(operation)
	err := fx.store.Write(fx.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, account, fieldmark.At(time.Now()))
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return fx.testKeyOf(account).Token
}

// Every write that is sent twice with one Idempotency-Key gets the first response again,
// with the same ids and secrets, and its description documents the header.
func TestEveryWriteTakesAnIdempotencyKey(t *testing.T) {
	fx := newFixture(t, nil)
	url := receiver(t)
	all, n := bodies(url), 0
	keys := map[bool]string{false: fx.keyWithEveryScopeAndWebhooks(), true: fx.admin}
	for path, methods := range describedOperations(t) {
		for method, op := range methods {
			if method == "get" || slices.Contains(unkeyed, op.OperationID) {
				continue
			}
			n++
			body, ok := all[op.OperationID]
			if !ok {
				t.Errorf("%s has no request in this table", op.OperationID)
				continue
			}
			if !op.takes(fieldmark.HeaderIdempotencyKey) {
				t.Errorf("%s does not describe %s", op.OperationID, fieldmark.HeaderIdempotencyKey)
			}
			a := request{method: strings.ToUpper(method), key: keys[strings.HasPrefix(path, adminPath)], body: body}
			owned, ownerKey := fx.ownedPath(op.OperationID, path)
			switch {
			case path == fieldmark.PathTestReset, path == fieldmark.PathTestClock:
				a.path, a.key = path, fx.worldKey(op.OperationID)
			case owned == "":
				a.path = fx.fillPath(path, url)
			case strings.HasPrefix(path, adminPath):
				a.path = owned
			default:
				a.path, a.key = owned, ownerKey
			}
			a = a.keyed("once-" + op.OperationID)
			if op.OperationID == "addAttachment" {
				a.header["Content-Type"] = "text/plain"
			}
			first, again := fx.send(a), fx.send(a)
			if slices.Contains(unsaved, op.OperationID) && first.Code >= 400 {
				continue
			}
			if first.Code >= 300 || first.Code != again.Code || !bytes.Equal(first.Body.Bytes(), again.Body.Bytes()) ||
				again.Header().Get(fieldmark.HeaderReplayed) != "true" {
				t.Errorf("%s %s: first %d %s, again %d %s (replayed %q); want one success twice", a.method, a.path,
					first.Code,
					first.Body, again.Code, again.Body, again.Header().Get(fieldmark.HeaderReplayed))
			}
			a.body += " "
			if other := fx.send(a); other.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s with another body under the key: %d %s, want 422", op.OperationID, other.Code, other.Body)
			}
		}
	}
	if n != len(all) {
		t.Errorf("the API description has %d writes, the table %d", n, len(all))
	}
	var made fieldmark.NewKey
	fx.mustSend(201, request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: all["createKey"]}.keyed("sealed"), &made)
	if kept := storetest.Dump(t, fx.at); bytes.Contains(kept, []byte(made.Token)) {
		t.Error("the token of a key is in the database in the clear")
	}
}

// A temporary failure releases its key. A request whose process ended before the response
// was stored is not executed again.
func TestReservedKeys(t *testing.T) {
	fx := newFixture(t, nil)
	create := request{method: "POST", path: adminPath + "keys", key: fx.admin,
		body: `{"name":"k","account":"later","scopes":["mission:read"]}`}.keyed("k1")
	if rec := fx.send(create); rec.Code != http.StatusNotFound {
		t.Fatalf("a key for an account that does not exist: %d %s", rec.Code, rec.Body)
	}
	fx.mustSend(200, request{method: "PUT", path: adminPath + "accounts/later", key: fx.admin,
		body: `{"name":"Later"}`},
		nil)
	fx.mustSend(201, create, nil)
	fx.exec(`UPDATE idempotency SET status = 0 WHERE name = 'k1'`)
	rec := fx.send(create)
	if p := fx.problem(rec); p.Code != fieldmark.CodeIdempotencyInFlight || rec.Header().Get("Retry-After") == "" {
		t.Errorf("the first request never ended: %d %+v", rec.Code, p)
	}
}

// A request that fails after it took effect is not executed again with its key: the test
// message was sent although its result could not be stored.
func TestReservedKeyAfterAnEffect(t *testing.T) {
	fx := newFixture(t, nil)
	var received atomic.Int64
	hook := fx.hook(httptestServer(t, func(http.ResponseWriter, *http.Request) { received.Add(1) }), "")
	test := request{method: "POST", path: hook + "/test", key: fx.key(access.DefaultAccount,
		fieldmark.ScopeWebhookManage)}.keyed("k1")
	fx.exec(`ALTER TABLE attempt RENAME TO attempt_away`)
	if rec := fx.send(test); rec.Code != http.StatusInternalServerError {
		t.Errorf("a test whose attempt cannot be written: %d %s, want 500", rec.Code, rec.Body)
	}
	fx.exec(`ALTER TABLE attempt_away RENAME TO attempt`)
	rec := fx.send(test)
	if p := fx.problem(rec); p.Code != fieldmark.CodeIdempotencyInFlight {
		t.Errorf("repeated under the key: %d %s, want 409 %s", rec.Code, rec.Body, fieldmark.CodeIdempotencyInFlight)
	}
	if n := received.Load(); n != 1 {
		t.Errorf("the receiver got %d test messages, want 1", n)
	}
}

func (fx *fixture) keyWithEveryScopeAndWebhooks() string {
	fx.t.Helper()
	fx.setOffer(access.DefaultAccount, "group") // only a group's keys may manage its sub-accounts
	return fx.key(access.DefaultAccount, fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead,
		fieldmark.ScopeMissionUpdate,
		fieldmark.ScopeMissionCancel, fieldmark.ScopeMissionOperate, fieldmark.ScopeWebhookManage,
		fieldmark.ScopeAccountManage, fieldmark.ScopeKeyTest)
}

// fillPath creates a resource for every placeholder of a path and inserts its id.
func (fx *fixture) fillPath(path, url string) string {
	fx.t.Helper()
	ctx := fx.t.Context()
	id := ""
	switch {
	case strings.Contains(path, "/missions/{id}"):
		id = fx.createMission(path + "s").ID
	case strings.Contains(path, "/payments/{id}"):
		var m fieldmark.Mission
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: fmt.Sprintf(`{"source":"crm","externalId":%q,"title":"Mast","payment":{"amount":{"value":9,`+
				`"currency":"EUR"}}}`, path)}, &m)
		for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
			m = fx.transition(m.ID, `{"status":"`+to+`"}`)
		}
		if id = m.Payment.ID; strings.HasSuffix(path, "refunds") {
			fx.payment(200, "POST", "payments/"+id+"/transitions", `{"status":"PAID"}`)
		}
	case strings.Contains(path, "/offers/{id}"):
		id = "o" + fmt.Sprintf("%d", offersPut.Add(1))
		fx.mustSend(200, request{method: "PUT", path: adminPath + "offers/" + id, key: fx.admin,
			body: `{"name":"O","kind":"enterprise"}`}, nil)
	case strings.Contains(path, "/cdns/{id}"):
		id = fmt.Sprintf("c%d", offersPut.Add(1))
		fx.mustSend(200, request{method: "PUT", path: adminPath + "cdns/" + id, key: fx.admin,
			body: bodies(url)["putCDN"]}, nil)
	case strings.Contains(path, "/sub-accounts/{id}"):
		a, err := fx.service.Offers.Groups.Create(ctx, access.DefaultAccount,
			fieldmark.SubAccountRequest{ID: fmt.Sprintf("s%d", offersPut.Add(1)), Name: "S"})
		if err != nil {
			fx.t.Fatal(err)
		}
		id = a.ID
		if strings.Contains(path, "{key}") {
			k, err := fx.service.Offers.Groups.CreateKey(ctx, access.DefaultAccount, id, fieldmark.KeyRequest{Name: "k",
				Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
			if err != nil {
				fx.t.Fatal(err)
			}
			path = strings.Replace(path, "{key}", k.ID, 1)
		}
	case strings.Contains(path, "/keys/{id}"):
		k, err := fx.service.Access.Keys.Create(ctx, "", fieldmark.KeyRequest{Name: "k",
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, Test: path == fieldmark.PathTestKeys+"/{id}"})
		if err != nil {
			fx.t.Fatal(err)
		}
		id = k.ID
	case strings.Contains(path, adminPath+"access-requests/{id}"):
		r, err := fx.service.AccessRequests.Open(ctx, access.Caller{}, fieldmark.AccessRequestForm{Name: "Ann",
			Organization: "Acme", Email: "ann@acme.example", Purpose: "Missions for broken meters.",
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, Offer: fieldmark.OfferStandard})
		if err != nil {
			fx.t.Fatal(err)
		}
		id = r.ID
	case strings.Contains(path, adminPath+"disputes/{id}"):
		id = fx.openDispute("disputed").ID
	case strings.Contains(path, "/technician-links/{id}"):
		var made fieldmark.NewTechnicianLink
		body := fmt.Sprintf(`{"assignee":{"id":"ann %d"}}`, idempotentLinks.Add(1))
		fx.mustSend(201, request{method: "POST", path: adminPath + "technician-links", key: fx.admin, body: body},
			&made)
		id = made.ID
	case strings.Contains(path, "/calendars/{id}"):
		c, err := fx.service.Missions.Calendars.Create(ctx, fieldmark.CalendarRequest{Name: "c",
			Scope: fieldmark.CalendarOfAll})
		if err != nil {
			fx.t.Fatal(err)
		}
		id = c.ID
	case strings.Contains(path, "/webhooks/{id}"):
		id = strings.TrimPrefix(fx.hook(url, ""), hooksPath+"/")
		if strings.Contains(path, "{delivery}") {
			ping, err := fx.service.Webhooks.Ping(ctx, "", id, fieldmark.PingRequest{})
			if err != nil {
				fx.t.Fatal(err)
			}
			path = strings.Replace(path, "{delivery}", ping.DeliveryID, 1)
		}
	case strings.Contains(path, "/proxies/{slug}"):
		id = "links"
	case strings.Contains(path, "/brands/{slug}"):
		id = "b" + fmt.Sprintf("%x", len(path))
		fx.mustSend(200, request{method: "PUT", path: adminPath + "brands/" + id, key: fx.admin,
			body: `{"name":"A","url":"https://a.example/","niche":"tools","language":"en"}`}, nil)
	case strings.Contains(path, "/sla/calendars/{name}"):
		id = "shifts"
		fx.mustSend(200, request{method: "PUT", path: adminPath + "sla/calendars/" + id, key: fx.admin,
			body: bodies("")["putSLACalendar"]}, nil)
	}
	return strings.NewReplacer("{id}", id, "{slug}", id, "{name}", id, "{priority}", "LOW", "{account}", "acme",
		"{digest}", "sha256:"+strings.Repeat("0", 64)).Replace(path)
}
