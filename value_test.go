package fieldmark_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

func TestMilli(t *testing.T) {
	f := func(m fieldmark.Milli, want string) {
		t.Helper()
		if got := m.String(); got != want {
			t.Errorf("Milli(%d) = %q, want %q", int64(m), got, want)
		}
		var back fieldmark.Milli
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != m {
			t.Errorf("%s read back = %d, %v, want %d", want, int64(back), err, int64(m))
		}
	}
	f(0, "0")
	f(1000, "1")
	f(74300, "74.3")
	f(925, "0.925")
	f(5, "0.005")
	f(-1500, "-1.5")
	f(-10, "-0.01")

	for in, want := range map[fieldmark.Milli]fieldmark.Milli{74349: 74300, 74350: 74400, 99950: 100000, -74350: -74400,
		0: 0} {
		if got := in.Tenth(); got != want {
			t.Errorf("Milli(%d).Tenth() = %d, want %d", in, got, want)
		}
	}
	for _, bad := range []string{`"1"`, `1e3`, `.`, `null x`, `99999999999999999999`} {
		if err := new(fieldmark.Milli).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("Milli accepted %s", bad)
		}
	}
}

func TestTime(t *testing.T) {
	at := fieldmark.At(time.Date(2026, 11, 21, 8, 5, 6, 120_999_000, time.FixedZone("", 3600)))
	if got, want := at.String(), "2026-11-21T07:05:06.120Z"; got != want {
		t.Errorf("At = %s, want %s", got, want)
	}
	if back := fieldmark.AtMicros(at.Micros()); back != at {
		t.Errorf("AtMicros(Micros) = %s, want %s", back, at)
	}
	var read fieldmark.Time
	if err := json.Unmarshal([]byte(`"2026-11-21T09:05:06.12+02:00"`), &read); err != nil || read != at {
		t.Errorf("read = %s, %v, want %s", read, err, at)
	}
	if err := json.Unmarshal([]byte(`"yesterday"`), &read); err == nil {
		t.Error("accepted yesterday")
	}
}

// TestTimeAppend: both ways to the wire form agree, in years of four digits.
func TestTimeAppend(t *testing.T) {
	for _, us := range []int64{0, -1, 1, 999, 1_000, 999_999, 1_790_000_000_123_456, -62_135_596_799_999_000,
		253_402_300_799_999_999} {
		at := fieldmark.AtMicros(us)
		if got := string(at.Append([]byte("at "))); got != "at "+at.String() {
			t.Errorf("%d: %q, want %q", us, got, at)
		}
	}
}

// TestNewID holds the layout of RFC 9562, section 5.7: version 7, variant 2,
// and an order by time.
func TestNewID(t *testing.T) {
	at := time.UnixMilli(0x017F22E279B0)
	early, again := fieldmark.NewID(fieldmark.PrefixMission, at), fieldmark.NewID(fieldmark.PrefixMission, at)
	if early == again {
		t.Errorf("ids are not random: %s, %s", early, again)
	}
	last := early
	for us := 1; us < 1000; us++ {
		id := fieldmark.NewID(fieldmark.PrefixMission, at.Add(time.Duration(us)*time.Microsecond))
		if id <= last {
			t.Errorf("after %d microseconds: %s, not after %s", us, id, last)
		}
		last = id
	}
	if late := fieldmark.FirstID(fieldmark.PrefixMission, at.Add(time.Millisecond)); late <= last ||
		fieldmark.FirstID(fieldmark.PrefixMission, at.Add(time.Millisecond-1)) > early {
		t.Errorf("FirstID returns %s, want one after %s, and one for each millisecond", late, last)
	}
	// 017f22e2-79b0-7000-8000-000000000000 in lower-case Crockford base 32.
	first := fieldmark.FirstID(fieldmark.PrefixMission, at)
	if want := "msn_05zj5rksp1r010000000000000"; first != want || first > early {
		t.Errorf("FirstID = %s, want %s, and not after %s", first, want, early)
	}
	if !fieldmark.CheckID(fieldmark.PrefixMission, early) {
		t.Errorf("CheckID refuses %s", early)
	}
	for _, bad := range []string{"", "msn_", "evt" + early[3:], early + "0", early[:29] + "u", "msn-" + early[4:]} {
		if fieldmark.CheckID(fieldmark.PrefixMission, bad) {
			t.Errorf("CheckID accepts %q", bad)
		}
	}
}

func TestDigest(t *testing.T) {
	good := string(fieldmark.DigestOf([32]byte{1}))
	if d, err := fieldmark.ParseDigest(good); err != nil || string(d) != good {
		t.Errorf("ParseDigest(%q) = %q, %v", good, d, err)
	}
	for _, bad := range []string{"", "sha256:", good[7:], good[:len(good)-1], "sha256:" + "G" + good[8:],
		"SHA256:" + good[7:]} {
		if _, err := fieldmark.ParseDigest(bad); err == nil {
			t.Errorf("ParseDigest accepts %q", bad)
		}
	}
}

func TestSlug(t *testing.T) {
	for _, good := range []string{"a", "acme", "acme-2", "9to5", string(slices.Repeat([]byte("a"), 63))} {
		if _, err := fieldmark.ParseSlug(good); err != nil {
			t.Errorf("ParseSlug(%q): %v", good, err)
		}
	}
	for _, bad := range []string{"", "-a", "a-", "a--b", "Acme", "a b", "a/b", "a.b", "é", "..",
		string(slices.Repeat([]byte("a"), 64))} {
		if _, err := fieldmark.ParseSlug(bad); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("ParseSlug(%q) = %v, want invalid_parameter", bad, err)
		}
	}
	valid := true
	if n := testing.AllocsPerRun(100, func() { valid = valid && fieldmark.ValidSlug("acme-rockets") }); n != 0 ||
		!valid {
		t.Errorf("ValidSlug allocates %v times", n)
	}
}

func TestRequestID(t *testing.T) {
	f := func(id string, want bool) {
		t.Helper()
		if got := fieldmark.ValidRequestID(id); got != want {
			t.Errorf("ValidRequestID(%q) = %v, want %v", id, got, want)
		}
	}
	f("abcdefgh", true)
	f("A-b_c.9xyz", true)
	f("short", false)
	f("with space!", false)
	f("line\nbreak-in-it", false)
	f(string(slices.Repeat([]byte("a"), 129)), false)
}
