package export_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/fieldmark/fieldmark/origin/export"
)

func TestCell(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain": "plain", "a=1": "a=1", "=1+1": "'=1+1", "+1": "'+1",
		"-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "é": "é"} {
		if got := export.Cell(text); got != want {
			t.Errorf("Cell(%q) is %q, want %q", text, got, want)
		}
	}
}

// left is a response whose client has left.
type left struct{ *httptest.ResponseRecorder }

func (left) Write([]byte) (int, error) { return 0, errors.New("left") }

func TestSend(t *testing.T) {
	rec := httptest.NewRecorder()
	send := export.Send(rec, "text/csv", "a.csv")
	if len(rec.Header()) > 0 {
		t.Errorf("before the first lines the header has %v", rec.Header())
	}
	for _, lines := range []string{"1\n", "2\n"} {
		if err := send([]byte(lines)); err != nil || !rec.Flushed {
			t.Errorf("send: %v, flushed %v", err, rec.Flushed)
		}
		rec.Flushed = false
	}
	if rec.Body.String() != "1\n2\n" || rec.Header().Get("Content-Type") != "text/csv" ||
		rec.Header().Get("Content-Disposition") != `attachment; filename="a.csv"` {
		t.Errorf("sent %q with %v", rec.Body, rec.Header())
	}
	if export.Send(left{httptest.NewRecorder()}, "text/csv", "a.csv")([]byte("1")) == nil {
		t.Error("no error after the client has left")
	}
}
