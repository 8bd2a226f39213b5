package fieldmark_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldmark/fieldmark"
)

// TestErrorsCrossTheWire encodes every kind of error as JSON and decodes it.
func TestErrorsCrossTheWire(t *testing.T) {
	for _, code := range fieldmark.Codes() {
		in := &fieldmark.Error{
			Code: code, Detail: "what a person reads", MissionID: "msn_1", Allowed: []string{"CANCELED"}, Limit: 7,
			Fields: []fieldmark.FieldError{{Pointer: "/title", Code: "required", Detail: "is required"}},
			Err:    errors.New("password=hunter2"),
		}
		raw, err := json.Marshal(in.Problem("", "req-12345678"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s: the private cause is on the wire: %s", code, raw)
		}
		var p fieldmark.Problem
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		if p.Status != code.Status() || p.Status < 400 || p.Title == "" {
			t.Errorf("%s: problem %+v", code, p)
		}
		if code == fieldmark.CodeInternal {
			in.Detail = "" // the text of an internal error is for the log
		}
		if diff := cmp.Diff(in, p.Err(), cmpopts.IgnoreFields(fieldmark.Error{}, "Err")); diff != "" {
			t.Errorf("%s: sent and received differ:\n%s", code, diff)
		}
	}
}

func TestAsError(t *testing.T) {
	if fieldmark.AsError(nil) != nil {
		t.Error("AsError(nil) is not nil")
	}
	deep := fmt.Errorf("open mission: %w", fieldmark.Errorf(fieldmark.CodeMissionExists, "there is one"))
	if got := fieldmark.AsError(deep); got.Code != fieldmark.CodeMissionExists {
		t.Errorf("AsError(%v) = %v", deep, got)
	}
	plain := errors.New("disk on fire")
	got := fieldmark.AsError(plain)
	if got.Code != fieldmark.CodeInternal || got.Detail != "" || !errors.Is(got, plain) {
		t.Errorf("AsError(plain) = %#v", got)
	}
	if s := fieldmark.Code("from_the_future").Status(); s != http.StatusInternalServerError {
		t.Errorf("status of an unknown code = %d, want 500", s)
	}
}

func TestProblemIsBounded(t *testing.T) {
	e := &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: make([]fieldmark.FieldError, 1000)}
	if n := len(e.Problem("", "").Errors); n != fieldmark.MaxFieldErrors {
		t.Errorf("%d complaints on the wire, want %d", n, fieldmark.MaxFieldErrors)
	}
}
