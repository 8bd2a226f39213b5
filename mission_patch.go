package fieldmark

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// MissionPatch is what a client may change of a mission, as a merge patch
// (RFC 7396): a member that is there replaces, null takes away, and what is not
// named stays. Objects are merged member by member.
type MissionPatch struct {
	Priority    *Priority          `json:"priority,omitempty" maxLength:"16" doc:"null is MEDIUM"`
	Description *string            `json:"description,omitempty" maxLength:"10000"`
	Window      *WindowPatch       `json:"window,omitempty"`
	Contact     *Contact           `json:"contact,omitempty"`
	Labels      map[string]*string `json:"labels,omitempty"`
	Metadata    json.RawMessage    `json:"metadata,omitempty" doc:"A JSON object; what it becomes must not exceed 16 KiB"`
}

// WindowPatch is what may change of a window.
type WindowPatch struct {
	Earliest *Time `json:"earliest,omitempty" format:"date-time"`
	Latest   *Time `json:"latest,omitempty" format:"date-time"`
}

// Check complains of what is wrong whatever the mission says.
func (p *MissionPatch) Check() []FieldError {
	r := MissionRequest{Contact: p.Contact, Labels: map[string]string{}, Metadata: p.Metadata}
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
	if string(r.Metadata) == "null" {
		r.Metadata = nil
	}
	return r.Check()
}

// MissionPlan is who goes and when; what is left out or null is nobody and no time.
type MissionPlan struct {
	Scheduled *Span     `json:"scheduled,omitempty"`
	Assignee  *Assignee `json:"assignee,omitempty"`
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

// Patched returns what the request becomes by a patch that has the members of a
// MissionPatch, and every complaint about that. The error is of a patch that has
// not the form of one.
func (r *MissionRequest) Patched(patch []byte) (MissionRequest, []FieldError, error) {
	var changes map[string]any
	if err := decodeTree(patch, &changes); err != nil {
		return MissionRequest{}, nil, err
	}
	whole, err := json.Marshal(r)
	if err != nil {
		return MissionRequest{}, nil, err
	}
	var document map[string]any
	if err := decodeTree(whole, &document); err != nil {
		return MissionRequest{}, nil, err
	}
	if whole, err = json.Marshal(MergePatch(document, changes)); err != nil {
		return MissionRequest{}, nil, err
	}
	var out MissionRequest
	if err := json.Unmarshal(whole, &out); err != nil {
		return MissionRequest{}, nil, err
	}
	if _, named := changes["metadata"]; !named {
		out.Metadata = r.Metadata // as it came, in its own order
	}
	if out.Contact != nil && *out.Contact == (Contact{}) {
		out.Contact = nil
	}
	if w := out.Window; w != nil && (w.Earliest.IsZero() || w.Latest.IsZero()) {
		return out, []FieldError{{Pointer: "/window", Code: "required", Detail: "needs both earliest and latest"}}, nil
	}
	return out, slices.DeleteFunc(out.Check(), func(f FieldError) bool { return !patchable(f.Pointer) }), nil
}

// patchable reports whether a pointer leads to a member of MissionPatch. What a
// patch cannot change may have been accepted under earlier rules.
func patchable(pointer string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return slices.Contains([]string{"priority", "description", "window", "contact", "labels", "metadata"}, name)
}

// MaxBatch bounds how many missions one batch may open.
const MaxBatch = 100

// BatchResult is what became of one mission of a batch: as if it had been sent
// alone, 201 for one that was opened and 200 for one that was there.
type BatchResult struct {
	Index   int      `json:"index"`
	Status  int      `json:"status"`
	Mission *Mission `json:"mission,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// BatchReport has a result for each mission of a batch, in their order.
type BatchReport struct {
	Results []BatchResult `json:"results"`
}
