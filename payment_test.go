package fieldmark_test

import (
	"testing"

	"github.com/fieldmark/fieldmark"
)

func TestMoney(t *testing.T) {
	for text, value := range map[string]int64{"12.50 EUR": 1250, "12 EUR": 1200, "0.05 USD": 5, "1250 JPY": 1250,
		"1.250 KWD": 1250, "1.2 KWD": 1200,
		"0.0001 CLF": 1, "0 EUR": 0, "90071992547409.92 EUR": fieldmark.MaxMoney} {
		m, err := fieldmark.ParseMoney(text)
		if err != nil || m.Value != value {
			t.Errorf("%q: %d, %v; want %d", text, m.Value, err, value)
		}
	}
	for _, text := range []string{"", "12", "EUR", " EUR", ".5 EUR", "5. EUR", "1.255 EUR", "1.5 JPY", "-1 EUR",
		"+1 EUR", "1e2 EUR", "12 eur", "12 XAU", "12 XXX",
		"12  EUR", "12,50 EUR", "90071992547409.93 EUR", "99999999999999999999 EUR", "12 EU", "12 EURO"} {
		if m, err := fieldmark.ParseMoney(text); err == nil {
			t.Errorf("%q was taken for %s", text, m)
		}
	}
	for text, m := range map[string]fieldmark.Money{"12.50 EUR": {Value: 1250, Currency: "EUR"},
		"-0.05 EUR": {Value: -5, Currency: "EUR"}, "7 JPY": {Value: 7, Currency: "JPY"},
		"0.007 KWD": {Value: 7, Currency: "KWD"}} {
		if got := m.String(); got != text {
			t.Errorf("%+v reads %q, want %q", m, got, text)
		}
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"12.50 EUR", "1 JPY", "1.250 KWD", "0.0001 UYW", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := fieldmark.ParseMoney(text)
		if err != nil {
			return
		}
		if again, err := fieldmark.ParseMoney(m.String()); err != nil || again != m {
			t.Errorf("%q is %+v, which reads %q, which is %+v, %v", text, m, m.String(), again, err)
		}
	})
}
