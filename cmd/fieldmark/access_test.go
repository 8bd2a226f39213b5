package main

import (
	"bytes"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
)

// operatedOrigin is an origin that commands call with the key of an administrator.
type operatedOrigin struct {
	t       *testing.T
	service *origin.Service
	args    []string // address and key
}

func newOperatedOrigin(t *testing.T) *operatedOrigin {
	t.Helper()
	service, err := origin.New(origin.Config{Store: storetest.Open(t, storetest.New(t)),
		Secret: []byte(strings.Repeat("s", 32)), BaseURL: "https://example.com"})
	must(t, err)
	must(t, service.Prepare(t.Context()))
	handler, err := api.New(api.Config{Service: service, NodeToken: strings.Repeat("n", 32), PublicAPI: true})
	must(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	key, err := service.Access.Keys.Create(t.Context(), "", fieldmark.KeyRequest{Name: "admin",
		Scopes: []fieldmark.Scope{fieldmark.ScopeAdmin}})
	must(t, err)
	return &operatedOrigin{t, service, []string{"--url", server.URL, "--admin-key", key.Token}}
}

// run runs a command, each argument of which is separated by |, and returns its exit status and output.
func (o *operatedOrigin) run(line string) (status int, out, errOut string) {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(o.t.Context(), append(strings.Split(line, "|"), o.args...), strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// cliStep is a command and what it prints: a regular expression of all its output, or of its error
// output if it fails.
type cliStep struct {
	line, want string
	status     int
}

func (o *operatedOrigin) play(steps []cliStep) {
	o.t.Helper()
	for _, s := range steps {
		status, out, errOut := o.run(s.line)
		got := out
		if s.status != 0 {
			got = errOut
		}
		if status != s.status || !regexp.MustCompile(`(?s)^`+s.want+`$`).MatchString(got) {
			o.t.Errorf("fieldmark %s: status %d, want %d, and\n%s%s\nwant %s", strings.ReplaceAll(s.line, "|", " "),
				status, s.status, out, errOut, s.want)
		}
	}
}

func (o *operatedOrigin) requestKey(address, organization string) fieldmark.NewAccessRequest {
	o.t.Helper()
	r, err := o.service.AccessRequests.Open(o.t.Context(), access.ParseCaller(address, ""),
		fieldmark.AccessRequestForm{Organization: organization, Name: "Ann Ames", Email: "ann@acme.example",
			Purpose: "Our billing creates a mission for each broken meter.", Offer: fieldmark.OfferStandard,
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}})
	must(o.t, err)
	return r
}

// TestAccessCommands lists, shows, approves and declines requests for API keys.
func TestAccessCommands(t *testing.T) {
	o := newOperatedOrigin(t)
	acme, rival := o.requestKey("192.0.2.1", "Acme \"x\""), o.requestKey("198.51.100.1", "Rival")
	o.play([]cliStep{
		{line: "access|list", want: rival.ID + `  pending   \S+  standard    "Rival"  "ann@acme.example"` + "\n" +
			acme.ID + `  pending   \S+  standard    "Acme \\"x\\""  "ann@acme.example"` + "\n"},
		{line: "access|list|--state|issued", want: ""},
		{line: "access|list|--state|open", status: 2, want: `.*pending, approved, declined, issued.*`},
		{line: "access|show|" + acme.ID, want: `\{\n  "id": "` + acme.ID + `",\n  "state": "pending",.*` +
			`"purpose": "Our billing creates a mission for each broken meter."\n\}\n`},
		{line: "access|show|arq_none", status: 1, want: "fieldmark: .*no such id\n"},
		{line: "access|approve|" + acme.ID, status: 2, want: `.*missing flags: --account.*`},
		{line: "access|approve|" + acme.ID + "|--account|acme", status: 1,
			want: `fieldmark: .*\n  /account: does not exist; create it with the approval\n`},
		{line: "access|approve|" + acme.ID + "|--account|acme|--new-account|--offer|standard|--expires-days|366",
			status: 1, want: `fieldmark: .*\n  /expiresInDays: the offer of the account allows at most 365 days\n`},
		{line: "access|approve|" + acme.ID + "|--account|acme|--new-account|--scope|admin:*", status: 1,
			want: `fieldmark: .*\n  /scopes/0: must be a scope that can be requested\n`},
		{line: "access|approve|" + acme.ID + "|--account|acme|--new-account|--offer|standard|--network|192.0.2.0/24|" +
			"--writes|30|--expires-days|90",
			want: acme.ID + ` is approved: account acme, mission:create,mission:read, until \S+` + "\n"},
		{line: "access|decline|" + acme.ID + "|--reason|No.", status: 1, want: "fieldmark: .*was approved by key_.*\n"},
		{line: "access|decline|" + rival.ID, status: 2, want: `.*missing flags: --reason.*`},
		{line: "access|decline|" + rival.ID + "|--reason|", status: 1, want: `fieldmark: .*\n  /reason: .*\n`},
		{line: "access|decline|" + rival.ID + "|--reason|We serve repairs alone.", want: rival.ID + " is declined\n"},
		{line: "access|list", want: ""},
		{line: "access|list|--state|approved", want: acme.ID + "  approved  .*\n"},
	})
	key, err := o.service.AccessRequests.Issue(t.Context(), acme.Secret)
	must(t, err)
	if key.Account != "acme" || key.RateLimit == nil || key.RateLimit.Writes != 30 || len(key.Networks) != 1 ||
		key.ExpiresAt == nil {
		t.Errorf("the key has %+v; want what the command approved", key.Key)
	}
	status, err := o.service.AccessRequests.Status(t.Context(), rival.Secret)
	if err != nil || status.Reason != "We serve repairs alone." {
		t.Errorf("the applicant sees %+v, %v; want the reason", status, err)
	}
}

// TestOfferCommands lists, changes and removes offers, and gives one to an account.
func TestOfferCommands(t *testing.T) {
	o := newOperatedOrigin(t)
	o.play([]cliStep{
		{line: "offer|list", want: "enterprise .*\ngroup .*\nstandard +standard +reads 600, writes 300, " +
			"endpoints 10, missions 1000, history 30, accounts 0: Standard\n"},
		{line: "offer|set|gold", status: 2, want: ".*missing flags: --name.*"},
		{line: "offer|set|Gold|--name|Gold", status: 1, want: `fieldmark: .*\n  /id: must be 1 to 64 of .*\n`},
		{line: "offer|set|gold|--name|Gold|--kind|silver", status: 2, want: `.*--kind must be one of .*`},
		{line: "offer|set|gold|--name|Gold|--history-days|4000", status: 1,
			want: `fieldmark: .*\n  /limits/historyDays: must be at most 3650\n`},
		{line: "offer|set|gold|--name|Gold|--scope|mission", status: 1, want: `fieldmark: .*mission.*\n`},
		{line: "offer|set|gold|--name|Gold|--scope|account:manage", status: 1,
			want: `fieldmark: .*\n  /scopes/0: only a group offer can have it\n`},
		{line: "offer|set|gold|--name|Gold|--reads|1200|--missions|5000|--history-days|14|--max-key-days|90|" +
			"--scope|mission:read", want: "gold +standard +reads 1200, writes -, endpoints -, missions 5000, " +
			"history 14, accounts 0: Gold\n"},
		{line: "account|put|acme|--name|Acme|--offer|gold", want: "acme is Acme\n"},
		{line: "account|put|acme|--name|Acme|--offer|none", status: 1, want: `fieldmark: .*\n  /offer: .*\n`},
		{line: "offer|remove|gold", status: 1, want: "fieldmark: .*the number of accounts with this offer is 1.*\n"},
		{line: "account|put|acme|--name|Acme|--offer|", want: "acme is Acme\n"},
		{line: "offer|remove|gold", want: ".*"},
		{line: "offer|remove|gold", status: 1, want: "fieldmark: .*there is no such offer\n"},
		{line: "offer|list", want: "enterprise [^\n]*\ngroup [^\n]*\nstandard [^\n]*\n"},
	})
}
