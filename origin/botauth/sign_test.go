package botauth_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/fieldmark/fieldmark/origin/botauth"
)

// vectorKey is the key test-key-ed25519 of RFC 9421, appendix B.1.4.
func vectorKey(t testing.TB) botauth.Key {
	t.Helper()
	seed, err := base64.StdEncoding.DecodeString("n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=")
	if err != nil {
		t.Fatal(err)
	}
	return botauth.NewKey(seed, time.Unix(0, 0))
}

// params returns the parameters of a signature in order: names and values by turns.
func params(list ...any) *httpsfv.Params {
	p := httpsfv.NewParams()
	for i := 0; i < len(list); i += 2 {
		p.Add(list[i].(string), list[i+1])
	}
	return p
}

// TestVectors signs the messages of RFC 9421, appendix B.2.6, and of the draft of Web Bot
// Auth, whose Ed25519 signatures are deterministic.
func TestVectors(t *testing.T) {
	k := vectorKey(t)
	if want := "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"; k.ID != want {
		t.Errorf("thumbprint %s, want %s", k.ID, want)
	}
	const digest = "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"
	for _, tt := range []struct {
		name, label      string
		components       []botauth.Covered
		params           *httpsfv.Params
		input, signature string
	}{
		{"RFC 9421, B.2.6", "sig-b26", []botauth.Covered{{Name: "date", Value: "Tue, 20 Apr 2021 02:07:55 GMT"},
			{Name: "@method", Value: "POST"}, {Name: "@path", Value: "/foo"},
			{Name: "@authority", Value: "example.com"},
			{Name: "content-type", Value: "application/json"}, {Name: "content-length", Value: "18"}},
			params("created", int64(1618884473), "keyid", "test-key-ed25519"),
			`sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473` +
				`;keyid="test-key-ed25519"`,
			"sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"},
		{"the dictionary form", "sig2", []botauth.Covered{{Name: "@authority", Value: "example.com"},
			{Name: "signature-agent", Key: "sig2", Value: `"https://signature-agent.test"`}},
			params("created", int64(1735689600), "keyid", k.ID, "alg", "ed25519", "expires", int64(4889289600), "nonce",
				"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==", "tag",
				"web-bot-auth"),
			`sig2=("@authority" "signature-agent";key="sig2");created=1735689600;keyid="` + k.ID +
				`";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA` +
				`8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`,
			"sig2=:CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==:"},
		{"the string form", "sig2", []botauth.Covered{{Name: "@authority", Value: "example.com"},
			{Name: "signature-agent", Value: `"https://signature-agent.test"`}},
			params("created", int64(1735689600), "keyid", k.ID, "alg", "ed25519", "expires", int64(1735693200), "nonce",
				"e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==", "tag",
				"web-bot-auth"), "",
			"sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:"},
		{"a key directory", "binding", []botauth.Covered{{Name: "@authority", Req: true, Value: "signature-agent.test"},
			{Name: "content-digest", Value: digest}},
			params("created", int64(1735689600), "expires", int64(4889289600), "keyid", k.ID, "tag",
				"http-message-signatures-directory"),
			`binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;keyid="` + k.ID +
				`";tag="http-message-signatures-directory"`,
			"binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"},
	} {
		input, signature, err := botauth.SignComponents(k, tt.label, tt.components, tt.params)
		if err != nil || signature != tt.signature || tt.input != "" && input != tt.input {
			t.Errorf("%s: %v\ngot  %s\n     %s\nwant %s\n     %s", tt.name, err, input, signature, tt.input,
				tt.signature)
		}
	}
	body := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"` + k.ID +
		`","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`
	h := botauth.SignDirectory([]botauth.Key{k}, "signature-agent.test", []byte(body), time.Unix(1735689600, 0))
	if got := h.Get("Content-Digest"); got != digest {
		t.Errorf("the digest of the directory is %s, want %s", got, digest)
	}
}

// newSigner returns a Signer of marks.example with the key of the vectors.
func newSigner(t testing.TB, form botauth.Form) *botauth.Signer {
	t.Helper()
	s, err := botauth.NewSigner("https://Marks.Example:443/", form)
	if err != nil {
		t.Fatal(err)
	}
	s.SetKeys(vectorKey(t))
	return s
}

// TestSign checks the fields of signed requests.
func TestSign(t *testing.T) {
	for _, tt := range []struct {
		form         botauth.Form
		agent, input string
	}{
		{botauth.FormDictionary, `fm="https://marks.example/.well-known/http-message-signatures-directory"`,
			`fm=("@authority" "@method" "@path" "signature-agent";key="fm");created=`},
		{botauth.FormString, `"https://marks.example"`,
			`fm=("@authority" "@method" "@path" "signature-agent");created=`},
	} {
		signer := newSigner(t, tt.form)
		nonces := map[string]bool{}
		for range 3 {
			req, err := http.NewRequest(http.MethodGet, "https://acme.example/a?b", nil)
			if err != nil {
				t.Fatal(err)
			}
			signer.Sign(req)
			input := req.Header.Get("Signature-Input")
			if got := req.Header.Get("Signature-Agent"); got != tt.agent || !strings.HasPrefix(input, tt.input) ||
				!strings.HasSuffix(input, `;tag="web-bot-auth"`) ||
				!strings.HasPrefix(req.Header.Get("Signature"), "fm=:") {
				t.Errorf("%s: Signature-Agent %s\nSignature-Input %s\nSignature %s", tt.form, got, input,
					req.Header.Get("Signature"))
			}
			d, err := httpsfv.UnmarshalDictionary([]string{input})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := d.Get("fm")
			p := m.(httpsfv.InnerList).Params
			get := func(name string) any { v, _ := p.Get(name); return v }
			if get("expires").(int64)-get("created").(int64) != 60 || get("alg") != "ed25519" ||
				get("keyid") != "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U" {
				t.Errorf("%s: parameters %s, want 60 seconds, ed25519 and the thumbprint", tt.form, input)
			}
			nonces[get("nonce").(string)] = true
		}
		if len(nonces) != 3 {
			t.Errorf("%s: %d nonces in 3 requests", tt.form, len(nonces))
		}
	}
}

// TestUnsigned: nothing is signed over http, nor before there is a key.
func TestUnsigned(t *testing.T) {
	signer := newSigner(t, botauth.FormDictionary)
	check := func(name, url string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if signer.Sign(req); len(req.Header) > 0 {
			t.Errorf("%s: %v; want no fields", name, req.Header)
		}
	}
	check("http", "http://acme.example/")
	signer.SetKeys()
	check("without a key", "https://acme.example/")
	later := vectorKey(t)
	later.UseFrom = time.Now().Add(time.Hour)
	signer.SetKeys(later)
	check("before a key is used", "https://acme.example/")
	for _, base := range []string{"http://marks.example", "", "https://", ":"} {
		if _, err := botauth.NewSigner(base, botauth.FormDictionary); err == nil {
			t.Errorf("NewSigner(%q) succeeded, want an error", base)
		}
	}
	if _, err := botauth.NewSigner("https://marks.example", "both"); err == nil {
		t.Error("NewSigner accepted an unknown form")
	}
}

// BenchmarkSign measures the goal of 60 us for a signature.
func BenchmarkSign(b *testing.B) {
	signer := newSigner(b, botauth.FormDictionary)
	req, err := http.NewRequest(http.MethodGet, "https://acme.example/a/page", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		signer.Sign(req)
	}
}
