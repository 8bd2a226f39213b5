package owner_test

import (
	"context"
	"encoding/json"
	"html"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

const acmePages = "/owner/brands/acme"

// decided opens a dispute of a signal and waits until its audit has ended.
func (f *fixture) disputed(form url.Values) fieldmark.Dispute {
	f.t.Helper()
	rec := f.do(acmePages+"/disputes", form)
	if rec.Code != 303 {
		f.t.Fatalf("open a dispute: %d: %s", rec.Code, rec.Body)
	}
	list, err := f.service.Brands.Disputes.ListOwn(f.t.Context(), "brand-acme", "acme")
	must(f.t, err)
	return list[0]
}

// TestDisputes: hostile text is shown as text, an open dispute changes no score, an upheld one
// makes its facts unknown, and a later audit keeps that.
func TestDisputes(t *testing.T) {
	f := newFixture(t)
	f.signIn()
	must(t, f.service.Brands.Audits.Request(t.Context(), "acme"))
	f.audited("acme")
	before, state, err := f.service.Standings.Current(t.Context(), "acme")
	must(t, err)
	signal := ""
	for _, c := range before.Components {
		for _, s := range c.Signals {
			if s.Status == fieldmark.Measured && s.Points < fieldmark.Milli(s.Max)*1000 {
				signal = s.ID
			}
		}
	}
	const text = "<script>alert(1)</script> \u202egnp.exe [click](javascript:alert(1)) the page has it {{.}}"
	form := url.Values{"signal": {signal}, "kind": {"wrong"}, "text": {text},
		"url1": {"javascript:alert(1)"}, "note1": {"here"}}
	says(t, "a link to a script", f.do(acmePages+"/disputes", form), 422, `id="url1" aria-invalid="true"`,
		"&lt;script&gt;", "must be an http or https address")
	form.Set("url1", "https://acme.example/proof")
	d := f.disputed(form)
	if strings.ContainsRune(d.Excerpt, '\u202e') || len([]rune(d.Excerpt)) > 240 {
		t.Errorf("published part %q", d.Excerpt)
	}
	page := f.do(acmePages+"/disputes", nil)
	says(t, "the disputes", page, 200, "&lt;script&gt;", "https://acme.example/proof")
	if body := page.Body.String(); strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") ||
		strings.Contains(body, `href="javascript`) || strings.Contains(body, `href="https://acme.example/proof`) {
		t.Errorf("markup, bidi or a link of the dispute is live:\n%s", body)
	}
	// The recheck waits until an hour after the last audit.
	if rec := f.do(acmePages, nil); !strings.Contains(rec.Body.String(), "The next audit is due <time") ||
		strings.Contains(rec.Body.String(), "data-live") {
		t.Errorf("the page waits for an audit that is an hour away:\n%s", rec.Body)
	}
	says(t, "the same signal again", f.do(acmePages+"/disputes", form), 409, "You opened a dispute")
	open, _, err := f.service.Standings.Current(t.Context(), "acme")
	must(t, err)
	a, _ := json.Marshal(before)
	if b, _ := json.Marshal(open); string(a) != string(b) {
		t.Errorf("an open dispute changes the score:\n%s\n%s", a, b)
	}

	// The recheck of a dispute waits until an hour after the last audit: let it happen now.
	must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		run, err := tx.AuditRun(ctx, "acme", time.Now())
		if err != nil || run == nil {
			return err
		}
		if until := time.Until(run.DueAt.Std()); until < 55*time.Minute || until > time.Hour {
			t.Errorf("the recheck is due in %s, want within the hour", until)
		}
		return nil
	}))
	if d.State != fieldmark.DisputeOpen {
		t.Errorf("state %s, want open", d.State)
	}
	_, err = f.service.Brands.Disputes.Decide(t.Context(), d.ID, fieldmark.DisputeDecision{
		State: fieldmark.DisputeUpheld, Answer: "It is there."})
	must(t, err)
	after, upheld, err := f.service.Standings.Current(t.Context(), "acme")
	must(t, err)
	if upheld.FactsDigest == state.FactsDigest || !upheld.Facts.AsOf.Std().After(state.Facts.AsOf.Std()) {
		t.Error("an upheld dispute is no new revision")
	}
	for _, c := range after.Components {
		for _, s := range c.Signals {
			if s.ID != signal {
				continue
			}
			if s.Status != fieldmark.Unknown || len(s.Evidence) == 0 ||
				!strings.Contains(s.Evidence[0].Fact, "disputed by the brand, upheld") {
				t.Errorf("signal after the decision: %+v", s)
			}
		}
	}
	digest, err := upheld.Facts.Digest()
	if err != nil || digest != upheld.FactsDigest {
		t.Errorf("digest %s of facts stored under %s: %v", digest, upheld.FactsDigest, err)
	}
	says(t, "the answer", f.do(acmePages+"/disputes", nil), 200, "It is there.", "upheld")
}

// TestRelist: a brand that its owner unlisted cannot come back before a week, whatever the owner
// does in between.
func TestRelist(t *testing.T) {
	f := newFixture(t)
	f.signIn()
	unlist := url.Values{"do": {"unlist"}, "reason": {"redesign"}, "confirm": {"yes"}}
	if rec := f.do(acmePages+"/profile/listing", unlist); rec.Code != 303 {
		t.Fatalf("unlist: %d: %s", rec.Code, rec.Body)
	}
	b, err := f.service.Brands.Get(t.Context(), "acme")
	if err != nil || b.Public {
		t.Errorf("unlisted brand: %+v, %v", b, err)
	}
	list := url.Values{"do": {"list"}}
	says(t, "list it at once", f.do(acmePages+"/profile/listing", list), 409, "The brand can be listed again at")
	says(t, "audit it", f.do(acmePages+"/audit", url.Values{}), 409, "is not audited")
	says(t, "unlist it again", f.do(acmePages+"/profile/listing", unlist), 303)
	says(t, "change the profile", f.do(acmePages+"/profile", url.Values{"name": {"Acme & Co"}, "niche": {"tools"},
		"language": {"en"}, "changed": {b.UpdatedAt.String()}}), 303)
	says(t, "list it after other changes", f.do(acmePages+"/profile/listing", list), 409, "can be listed again")
	if b, err = f.service.Brands.Get(t.Context(), "acme"); err != nil || b.Public || b.Name != "Acme & Co" {
		t.Errorf("after the changes: %+v, %v", b, err)
	}
	// A week later.
	old := fieldmark.At(time.Now().AddDate(0, 0, -fieldmark.RelistAfterDays).Add(-time.Second))
	must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.SetUnlisted(ctx, "acme", &old)
	}))
	says(t, "list it a week later", f.do(acmePages+"/profile/listing", list), 303)
	if b, err = f.service.Brands.Get(t.Context(), "acme"); err != nil || !b.Public {
		t.Errorf("listed again: %+v, %v", b, err)
	}
}

// TestForms: each form rejects what is wrong beside its input, keeps what was entered, and
// reports success.
func TestForms(t *testing.T) {
	f := newFixture(t)
	f.signIn()
	_, err := f.service.Brands.Create(t.Context(), fieldmark.Brand{Slug: "bolt", Name: "Bolt",
		URL: "https://bolt.example/", Niche: "tools", Language: "en", Public: true})
	must(t, err)
	changed := func() string {
		b, err := f.service.Brands.Get(t.Context(), "acme")
		must(t, err)
		return b.UpdatedAt.String()
	}
	profile := func(name, niche, at string) url.Values {
		return url.Values{"name": {name}, "niche": {niche}, "language": {"en"}, "changed": {at}}
	}
	for _, c := range []struct {
		what, path string
		form       url.Values
		status     int
		want       []string
	}{
		{"no name", "/profile", profile("", "Not a slug", changed()), 422,
			[]string{`id="name" aria-invalid="true" autofocus`, `value="Not a slug"`}},
		{"an old page", "/profile", profile("Acme", "shops", "2020-01-01T00:00:00.000Z"), 412,
			[]string{"changed after this page was opened", `value="shops"`}},
		{"the name of another brand", "/profile", profile("bolt", "tools", changed()), 303, nil},
		{"a bad alias", "/profile/aliases", url.Values{"names": {"Acme!"}}, 422, []string{`value="Acme!"`,
			`id="names" aria-invalid="true"`}},
		{"aliases", "/profile/aliases", url.Values{"names": {"acme-tools acme-shop"}}, 303, nil},
		{"a long pause", "/profile/wishes", url.Values{"pause": {"11"}}, 422, []string{"must be 1 to 10 seconds"}},
		{"no checks", "/profile/wishes", url.Values{"pause": {"5"}}, 303, nil},
		{"no text", "/disputes", url.Values{"signal": {"x"}, "kind": {"bad"}, "text": {"short"}}, 422,
			[]string{`id="text" aria-invalid="true"`, ">short</textarea>"}},
		{"no https", "/notifications", url.Values{"url": {"ftp://x"}, "threshold": {"2"}}, 422,
			[]string{`id="url" aria-invalid="true"`, `value="ftp://x"`}},
		{"a word as threshold", "/notifications", url.Values{"url": {"https://acme.example/"}, "threshold": {"much"}},
			422, []string{`id="threshold" aria-invalid="true"`, `value="much"`}},
		{"a long reason", "/profile/listing", url.Values{"do": {"unlist"}, "reason": {strings.Repeat("r", 201)},
			"confirm": {"yes"}}, 422, []string{`id="reason" aria-invalid="true"`, strings.Repeat("r", 201)}},
		{"no confirmation", "/claim", url.Values{"do": {"withdraw"}, "confirm": {"no"}}, 422,
			[]string{"Type acme to confirm"}},
	} {
		says(t, c.what, f.do(acmePages+c.path, c.form), c.status, c.want...)
	}
	says(t, "the profile page", f.do(acmePages+"/profile", nil), 200, "acme-tools", "pending",
		`name="pause" type="number" min="1" max="10" value="5"`)
	requests, err := f.service.Brands.Owners.Requests(t.Context(), fieldmark.RequestPending, "", 10)
	if err != nil || len(requests) != 2 {
		t.Fatalf("requests %+v, %v; want the name and the aliases", requests, err)
	}
	for _, r := range requests {
		_, err := f.service.Brands.Owners.DecideRequest(t.Context(), r.ID,
			fieldmark.RequestDecision{State: fieldmark.RequestApproved})
		must(t, err)
	}
	b, err := f.service.Brands.Get(t.Context(), "acme")
	aliases, aliasErr := f.service.Brands.Aliases(t.Context(), "acme")
	if err != nil || aliasErr != nil || b.Name != "bolt" || len(aliases) != 2 {
		t.Errorf("after the decisions: %+v %v, %v, %v", b, aliases, err, aliasErr)
	}
	if ok, err := f.service.Brands.Owners.AllowsChecks(t.Context(), "127.0.0.1"); ok || err != nil {
		t.Errorf("checks are allowed: %v, %v", ok, err)
	}
	says(t, "the claim page", f.do(acmePages+"/claim", nil), 200, "verified", "Proofs")
	says(t, "the notifications", f.do(acmePages+"/notifications", nil), 200, "/brands/acme/feed.atom")
}

// TestMailLinks: an owner adds and removes addresses; the links of mail act only when their
// button is pressed, and a mail program unsubscribes by one request without a session.
func TestMailLinks(t *testing.T) {
	relay, err := mail.ParseRelay("smtp://127.0.0.1:1?tls=off", "geo@marks.example") // nothing listens there
	must(t, err)
	f := newFixture(t, func(c *origin.Config) { c.MailRelay, c.BaseURL = relay, "https://marks.example" })
	f.signIn()
	const page = acmePages + "/notifications"
	says(t, "no address", f.do(page+"/mail", url.Values{"address": {"ann"}}), 422, `id="address" aria-invalid="true"`,
		`value="ann"`, "must be an e-mail address")
	says(t, "an address", f.do(page+"/mail", url.Values{"address": {"ann@acme.example"}}), 303)
	says(t, "the same again", f.do(page+"/mail", url.Values{"address": {"ann@acme.example"}}), 422, "is in the list")
	says(t, "the page", f.do(page, nil), 200, "ann@acme.example", "pending")
	address := func() mail.Address {
		t.Helper()
		list, err := f.service.Mail.List(t.Context(), "brand-acme", "acme")
		if err != nil || len(list) != 1 {
			t.Fatalf("addresses %+v, %v", list, err)
		}
		return list[0]
	}
	keys, err := keyring.New([]byte(strings.Repeat("s", 32)))
	must(t, err)
	link := func(path string) string {
		return path + "?" + url.Values{"token": {address().ID + "." + keys.Mail.Sum(path+" "+address().ID)}}.Encode()
	}
	f.cookie = nil
	says(t, "a program opens the link", f.do(link(mail.ConfirmPath), nil), 200, "Confirm</button>",
		`action="`+html.EscapeString(link(mail.ConfirmPath))+`"`)
	if got := address().State; got != store.MailPending {
		t.Errorf("an opened link makes the address %s", got)
	}
	says(t, "a wrong link", f.do(mail.ConfirmPath+"?token=mla_1.x", url.Values{}), 404, "wrong or has expired")
	other := strings.Replace(link(mail.UnsubscribePath), "unsubscribe", "confirm", 1)
	says(t, "the token of the other page", f.do(other, url.Values{}), 404)
	says(t, "the button", f.do(link(mail.ConfirmPath), url.Values{}), 200, "The address is confirmed.")
	if got := address().State; got != store.MailConfirmed {
		t.Errorf("the address is %s, want confirmed", got)
	}
	says(t, "one-click unsubscription", f.do(link(mail.UnsubscribePath), url.Values{"List-Unsubscribe": {"One-Click"}}),
		200, "unsubscribed")
	if list, err := f.service.Mail.List(t.Context(), "brand-acme", "acme"); err != nil || len(list) != 0 {
		t.Errorf("addresses after the unsubscription: %+v, %v", list, err)
	}
	f.signIn()
	says(t, "an unknown address", f.do(page+"/mail", url.Values{"remove": {"mla_1"}}), 404)
}

// TestErrorPagesLeadBack: an error in a session keeps the navigation and says what to do.
func TestErrorPagesLeadBack(t *testing.T) {
	f := newFixture(t)
	f.signIn()
	const list = `<a href="/owner">Go to your brands</a>`
	says(t, "unknown page", f.do("/owner/nothing", nil), 404, `<nav aria-label="Main">`, list, "may have been deleted")
	says(t, "unknown brand", f.do("/owner/brands/best", nil), 404, `<nav aria-label="Main">`, list)
	says(t, "huge form", f.do(acmePages+"/profile", url.Values{"name": {strings.Repeat("x", 70<<10)}}), 413,
		`<nav aria-label="Main">`, list, "Nothing was stored.")
}

// TestEndpointSubmittedTwice: the form that creates an endpoint creates one, also if it is sent twice, and an
// endpoint is deleted after a question that names it.
func TestEndpointSubmittedTwice(t *testing.T) {
	f := newFixture(t, func(c *origin.Config) {
		c.HTTP = safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	})
	f.signIn()
	const page = acmePages + "/notifications"
	form := url.Values{"url": {"https://192.0.2.1/hook"}, "newest": {"none"}}
	says(t, "create an endpoint", f.do(page, form), 200, "Endpoint created")
	says(t, "the same form", f.do(page, form), 409, "An endpoint was created after this form was opened.")
	list, err := f.service.Webhooks.Endpoints(t.Context(), "brand-acme")
	if err != nil || len(list) != 1 {
		t.Fatalf("%d endpoints, %v; want one", len(list), err)
	}
	one := page + "/" + list[0].ID
	says(t, "delete it", f.do(one, url.Values{"do": {"delete"}}), 200, "Delete the endpoint https://192.0.2.1/hook?",
		`id="question"`)
	says(t, "yes", f.do(one, url.Values{"do": {"delete"}, "confirm": {"yes"}}), 303)
}
