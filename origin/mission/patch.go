package mission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// ValidatePatch returns the errors of a patch that do not depend on the mission. The API
// reports them before it reads the mission.
func ValidatePatch(p *fieldmark.MissionPatch) validation.Errors {
	r := fieldmark.MissionRequest{Contact: p.Contact, Labels: map[string]string{}, Metadata: p.Metadata}
	if p.Priority != nil {
		r.Priority = *p.Priority
	}
	if p.Description != nil {
		r.Description = *p.Description
	}
	for k, v := range p.Labels {
		if v != nil {
			r.Labels[k] = *v
		}
	}
	// null removes the member (RFC 7396), so it is no metadata that could be wrong.
	if string(r.Metadata) == "null" {
		r.Metadata = nil
	}
	return ValidateRequest(&r)
}

// MergePatch applies a merge patch to a document, both decoded from JSON
// (RFC 7396, section 2). Neither is changed.
func MergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(merged, name)
		} else {
			merged[name] = MergePatch(merged[name], change)
		}
	}
	return merged
}

// ApplyPatch returns the request with a patch that has the members of a MissionPatch applied,
// and every field error of the result. The error is not nil if the patch is not a JSON object.
// r is not changed.
func ApplyPatch(r *fieldmark.MissionRequest, patch []byte) (fieldmark.MissionRequest, validation.Errors, error) {
	var changes map[string]any
	// The patch is applied to the JSON document, not to the struct: only there can a member
	// that is absent be distinguished from one that is null.
	if err := decodeDocument(patch, &changes); err != nil {
		return fieldmark.MissionRequest{}, nil, err
	}
	whole, err := json.Marshal(r)
	if err != nil {
		return fieldmark.MissionRequest{}, nil, err
	}
	var document map[string]any
	if err := decodeDocument(whole, &document); err != nil {
		return fieldmark.MissionRequest{}, nil, err
	}
	if whole, err = json.Marshal(MergePatch(document, changes)); err != nil {
		return fieldmark.MissionRequest{}, nil, err
	}
	var out fieldmark.MissionRequest
	if err := json.Unmarshal(whole, &out); err != nil {
		return fieldmark.MissionRequest{}, nil, err
	}
	if _, named := changes["metadata"]; !named {
		out.Metadata = r.Metadata // keeps the order of members
	}
	// a patch that removes all members of the contact removes it
	if out.Contact != nil && *out.Contact == (fieldmark.Contact{}) {
		out.Contact = nil
	}
	// A patch may set one end of a window only if the mission has the other.
	if w := out.Window; w != nil && (w.Earliest.IsZero() || w.Latest.IsZero()) {
		return out, validation.Errors{{Pointer: "/window", Code: "required",
			Detail: "needs both earliest and latest"}}, nil
	}
	return out, slices.DeleteFunc(ValidateRequest(&out),
		func(f fieldmark.FieldError) bool { return !patchable(f.Pointer) }), nil
}

// patchable reports whether a JSON Pointer refers to a member of MissionPatch. Other
// members may have been accepted under earlier rules and are not validated again.
func patchable(pointer string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return slices.Contains([]string{"priority", "description", "window", "contact", "labels", "metadata"}, name)
}
