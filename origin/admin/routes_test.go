package admin_test

import (
	"context"
	"crypto/sha256"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// undo says, for every form of the console that asks nothing first, how its action is taken back. The others
// are in the table of TestQuestions. A new form belongs in one of the two.
var undo = map[string]string{
	"/admin/sign-in":                                    "sign out",
	"/admin/sign-out":                                   "sign in",
	"/admin/prove":                                      "it changes nothing",
	"/admin/missions":                                   "cancel the mission",
	"/admin/missions/filters":                           "save the filter again",
	"/admin/missions/bulk":                              "assign again; a page asks before it cancels",
	"/admin/missions/{id}/edit":                         "edit again",
	"/admin/missions/{id}/notes":                        "redact the note",
	"/admin/missions/{id}/attachments":                  "remove the file",
	"/admin/missions/{id}/plan":                         "plan again",
	"/admin/missions/{id}/payment":                      "set the amount again, until it is due",
	"/admin/brands":                                     "delete the brand",
	"/admin/brands/import":                              "import the former values",
	"/admin/brands/visibility":                          "samples of another file replace these",
	"/admin/brands/{slug}":                              "change the brand again",
	"/admin/brands/{slug}/audit":                        "it only measures",
	"/admin/brands/{slug}/delete":                       "the slug is entered as confirmation",
	"/admin/api-keys":                                   "revoke the key",
	"/admin/accounts":                                   "change the account again",
	"/admin/offers":                                     "change the offer again",
	"/admin/webhooks":                                   "delete the endpoint",
	"/admin/webhooks/{id}/deliveries/{delivery}/resend": "receivers ignore ids that they know",
	"/admin/modules":                                    "it is stored, not used",
	"/admin/modules/{digest}":                           "roll back",
	"/admin/technicians":                                "end the link",
	"/admin/calendars":                                  "end the feed",
	"/admin/cdns":                                       "change or remove the CDN",
	"/admin/cdns/{name}/test":                           "it purges what no response has",
	"/admin/nodes/{id}/remove":                          "an edge that runs is back with its next report",
	"/admin/audit-log/verify":                           "it changes nothing",
}

// postRoutes returns the patterns of the forms that the package registers.
func postRoutes(t *testing.T) (patterns []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	consts := map[string]ast.Expr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, name := range spec.Names {
					if i < len(spec.Values) {
						consts[name.Name] = spec.Values[i]
					}
				}
			}
			return true
		})
	}
	var value func(ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return text
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		case *ast.Ident:
			return value(consts[e.Name])
		case *ast.SelectorExpr:
			return map[string]string{"PathAdmin": fieldmark.PathAdmin,
				"PathSignedOn": fieldmark.PathSignedOn, "PathAttachments": fieldmark.PathAttachments}[e.Sel.Name]
		}
		return ""
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Handle" {
				if path, ok := strings.CutPrefix(value(call.Args[0]), "POST "); ok {
					patterns = append(patterns, path)
				}
			}
			return true
		})
	}
	if len(patterns) < 30 {
		t.Fatalf("found only %d forms: %q", len(patterns), patterns)
	}
	return patterns
}

// questionTest is a form whose action cannot be taken back.
type questionTest struct {
	route, path string
	form        url.Values
	names       string // the question names the object
}

// questionTests creates an object for each such form.
func (b *browser) questionTests() []questionTest {
	b.t.Helper()
	ctx := b.t.Context()
	must := func(err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	var missions []string
	for i := range 6 {
		m := b.mission(fieldmark.MissionRequest{ExternalID: strconv.Itoa(i), Source: "crm",
			Title: "Meter " + strconv.Itoa(i)})
		missions = append(missions, "/admin/missions/"+m.ID)
	}
	id := func(i int) string { return strings.TrimPrefix(missions[i], "/admin/missions/") }
	done, err := b.service.Missions.Complete(ctx, id(1))
	must(err)
	completed := strconv.Itoa(done.Version)
	b.post(missions[2]+"/notes", url.Values{"text": {"The code is 4711."}}, missions[2])
	notes, err := b.service.Missions.Notes(ctx, "", id(2), "", "", 1)
	must(err)
	file, err := b.service.Attachments.Add(ctx, attachment.Upload{Mission: id(2), ContentType: "text/plain",
		Name: "plan.txt", Body: strings.NewReader("Ring twice.")})
	must(err)
	version := map[int]string{} // of the payments
	for _, i := range []int{3, 4} {
		b.post(missions[i]+"/payment", url.Values{"amount": {"12.50 EUR"}, "direction": {"CHARGE"},
			"payment-version": {"0"}}, missions[i])
		_, err := b.service.Missions.Complete(ctx, id(i))
		must(err)
		_, err = b.service.Missions.Apply(ctx, mission.Move("", id(i), mission.Transition{To: fieldmark.MissionClosed}))
		must(err)
		story, err := b.service.Missions.History(ctx, id(i))
		must(err)
		version[i] = strconv.Itoa(story.Money.Version)
	}
	b.post(missions[4]+"/payment/mark", url.Values{"status": {"PAID"}, "payment-version": {version[4]}}, missions[4])
	paid, err := b.service.Missions.History(ctx, id(4))
	must(err)
	key := func(name string) string {
		k, err := b.service.Access.Keys.CreateAfter(ctx, nil, fieldmark.KeyRequest{Name: name,
			Account: access.DefaultAccount, Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
		must(err)
		return "/admin/api-keys/" + k.ID
	}
	feed := func(name string) string {
		c, err := b.service.Missions.Calendars.Create(ctx, fieldmark.CalendarRequest{Name: name,
			Account: access.DefaultAccount, Scope: fieldmark.CalendarOfAll})
		must(err)
		return "/admin/calendars/" + c.ID
	}
	link := func(who string) string {
		until := fieldmark.At(time.Now().AddDate(0, 0, 1))
		l, err := b.service.Links.Create(ctx, fieldmark.TechnicianLinkRequest{Account: access.DefaultAccount,
			Assignee: fieldmark.Assignee{ID: who}, Until: &until})
		must(err)
		return "/admin/technicians/" + l.ID
	}
	endpoint := func(host string) string {
		e, err := b.service.Webhooks.CreateEndpoint(ctx, access.DefaultAccount,
			fieldmark.EndpointRequest{URL: "https://192.0.2.1/" + host, Events: []string{fieldmark.AllMissionEvents}})
		must(err)
		return "/admin/webhooks/" + e.ID
	}
	paused := endpoint("paused")
	b.post(paused, url.Values{"do": {"pause"}}, paused)
	for _, version := range []string{"1.0", "2.0"} {
		body := []byte("\x00asm " + version)
		must(b.service.Modules.ActivateBytes(ctx, fieldmark.ModuleRef{Name: "geo", Version: version,
			Digest: fieldmark.DigestOf(sha256.Sum256(body))}, body))
	}
	claim := b.claimed("acme", "Acme", "brand-acme")
	aliases, err := b.service.Brands.Owners.RequestAliases(ctx, "brand-acme", "acme",
		fieldmark.AliasRequest{Names: []fieldmark.Slug{"anvils"}})
	must(err)
	dispute, err := b.service.Brands.Disputes.Open(ctx, "acme", fieldmark.DisputeRequest{Signal: "structure.schema",
		Kind: fieldmark.DisputeWrong, Text: "The markup of the page is valid.", Email: "ann@acme.example"})
	must(err)
	b.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddCertificate(ctx, "shop.example", time.Now())
		return err
	})
	sessions, err := b.service.Access.Sessions.List(ctx)
	must(err)
	asks := func(organization string) string { return "/admin/access-requests/" + b.requestKey(organization).ID }
	for _, name := range []string{"front", "back"} {
		_, err := b.service.CDNs.Put(ctx, name, fieldmark.CDNRequest{CDNSettings: fieldmark.CDNSettings{
			Kind: fieldmark.CDNTemplate, URLs: []string{"http://127.0.0.1:1/"}, Body: "{keys}"}})
		must(err)
	}
	const one, hook = "/admin/missions/{id}", "/admin/webhooks/{id}"
	return []questionTest{
		{one + "/complete", missions[0] + "/complete", url.Values{"version": {"1"}}, "Meter 0"},
		{one + "/move", missions[1] + "/move", url.Values{"to": {"CLOSED"}, "version": {completed}}, "Meter 1"},
		{one + "/move", missions[5] + "/move", url.Values{"to": {"CANCELED"}, "version": {"1"}}, "Meter 5"},
		{one + "/notes/{note}/redact", missions[2] + "/notes/" + notes.Data[0].ID + "/redact", url.Values{}, user},
		{one + "/attachments/{attachment}/remove", missions[2] + "/attachments/" + file.ID + "/remove", url.Values{},
			"plan.txt"},
		{one + "/payment/mark", missions[3] + "/payment/mark",
			url.Values{"status": {"CANCELED"}, "payment-version": {version[3]}}, "12.50 EUR"},
		{one + "/payment/refund", missions[4] + "/payment/refund",
			url.Values{"payment-version": {strconv.Itoa(paid.Money.Version)}}, "12.50 EUR"},
		{"/admin/api-keys/{id}/rotate", key("crm") + "/rotate", url.Values{"grace": {"24"}}, "crm"},
		{"/admin/api-keys/{id}/revoke", key("erp") + "/revoke", url.Values{"reason": {"unused"}}, "erp"},
		{"/admin/access-requests/{id}/approve", asks("Acme Repairs") + "/approve",
			url.Values{"account": {"+"}, "new": {"acme-repairs"}, "scope": {"mission:read"}}, "Acme Repairs"},
		{"/admin/access-requests/{id}/decline", asks("Acme Towers") + "/decline", url.Values{"reason": {"No."}},
			"Acme Towers"},
		{"/admin/calendars/{id}", feed("Team north"), url.Values{"do": {"rotate"}}, "Team north"},
		{"/admin/technicians/{id}", link("ann"), url.Values{"do": {"rotate"}}, "ann"},
		{"/admin/technicians/{id}", link("bob"), url.Values{"do": {"end"}}, "bob"},
		{"/admin/calendars/{id}", feed("Team south"), url.Values{"do": {"end"}}, "Team south"},
		{hook, endpoint("a"), url.Values{"do": {"rotate"}, "overlap": {"24"}}, "https://192.0.2.1/a"},
		{hook, endpoint("b"), url.Values{"do": {"delete"}}, "https://192.0.2.1/b"},
		{hook, paused, url.Values{"do": {"enable"}, "held": {"skip"}}, "https://192.0.2.1/paused"},
		{"/admin/modules/rollback", "/admin/modules/rollback", url.Values{}, "geo 2.0"},
		{"/admin/disputes/{id}", "/admin/disputes/" + dispute.ID, url.Values{"do": {"rejected"}, "answer": {"No."}},
			"acme"},
		{"/admin/requests/{id}", "/admin/requests/" + aliases.ID, url.Values{"do": {"approved"}}, "acme"},
		{"/admin/claims/{id}", "/admin/claims/" + claim, url.Values{"reason": {"sold"}}, "acme"},
		{"/admin/certificates/{name}/renew", "/admin/certificates/shop.example/renew", url.Values{}, "shop.example"},
		{"/admin/offers/{id}/remove", "/admin/offers/standard/remove", url.Values{}, "Standard"},
		{"/admin/cdns/{name}/purge", "/admin/cdns/front/purge", url.Values{}, "front"},
		{"/admin/cdns/{name}/remove", "/admin/cdns/back/remove", url.Values{}, "back"},
		{"/admin/settings/second-factor", "/admin/settings/second-factor", url.Values{"do": {"off"}}, user},
		{"/admin/settings/sessions/{session}/end", "/admin/settings/sessions/" + sessions[0].Name + "/end",
			url.Values{},
			"this session"},
	}
}

// TestQuestions: a form whose action cannot be taken back first shows a question that names the object, changes
// nothing before the answer, and acts after it. Every form of the console is in this table or in undo.
func TestQuestions(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	table := b.questionTests()
	routes := postRoutes(t)
	for _, route := range routes {
		asks := slices.ContainsFunc(table, func(q questionTest) bool { return q.route == route })
		if asks == (undo[route] != "") {
			t.Errorf("POST %s: say in undo how its action is taken back, or test its question", route)
		}
	}
	for route := range undo {
		if !slices.Contains(routes, route) {
			t.Errorf("POST %s is no form any more", route)
		}
	}
	last := func() int64 {
		entries, err := b.service.AuditLog.List(t.Context(), 0, auditlog.Filter{}, 1)
		if err != nil || len(entries) != 1 {
			t.Fatalf("audit log: %v, %v", entries, err)
		}
		return entries[0].Number
	}
	for _, tt := range table {
		before := last()
		rec := b.do(tt.path, tt.form)
		title, _, _ := strings.Cut(strings.SplitAfter(rec.Body.String(), "<h1>")[1], "</h1>")
		if rec.Code != 200 || !strings.Contains(rec.Body.String(),
			` id="question" method="post" action="`+tt.path+`"`) ||
			!strings.Contains(title, tt.names) || !strings.HasSuffix(title, "?</bdi>") || last() != before {
			t.Errorf("POST %s %v: %d, %q, audit log from %d to %d, want a question about %s", tt.path, tt.form,
				rec.Code,
				title, before, last(), tt.names)
			continue
		}
		form := maps.Clone(tt.form)
		form.Set("confirm", "yes")
		if rec = b.do(tt.path, form); strings.HasPrefix(tt.path, "/admin/certificates/") {
			continue // this installation orders none
		}
		if rec.Code >= 400 || last() == before {
			t.Errorf("POST %s %v: %d, audit log still at %d: %s", tt.path, form, rec.Code, before, rec.Body)
		}
	}
}
