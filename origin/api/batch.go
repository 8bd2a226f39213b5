package api

import (
	"context"
	"errors"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// missionBatch is several missions in one request.
type missionBatch struct {
	Missions []fieldmark.MissionRequest `json:"missions" minItems:"1" maxItems:"100"`
}

// openMissions opens missions, each as if it had been sent alone: what is wrong
// with one is said in its place and does not keep the others from being opened.
// They share a transaction, so a failure of ours opens none of them.
func (s *server) openMissions(c *call) error {
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	items, err := c.splitBatch(body)
	if err != nil {
		return err
	}
	intakes := make([]origin.Intake, len(items))
	refused := make([]*fieldmark.Error, len(items))
	for i, item := range items {
		if intakes[i], err = c.intake(item); err != nil {
			if refused[i] = itemRefusal(err); refused[i] == nil {
				return err
			}
		}
	}
	return s.do(c, func(ctx context.Context, a *origin.Act) (reply, error) {
		report := fieldmark.BatchReport{Results: make([]fieldmark.BatchResult, len(items))}
		for i := range items {
			result := &report.Results[i]
			result.Index = i
			problem := refused[i]
			if problem == nil {
				m, created, err := a.OpenMission(ctx, intakes[i])
				if problem = itemRefusal(err); err != nil && (problem == nil || created) {
					return reply{}, err // the rows of a created mission must go: undo all
				}
				result.Mission, result.Status = &m, http.StatusOK
				if created {
					result.Status = http.StatusCreated
				}
			}
			if problem != nil {
				p := problem.Problem(c.w.base, c.w.id)
				*result = fieldmark.BatchResult{Index: i, Status: p.Status, Problem: &p}
			}
		}
		return reply{status: http.StatusOK, value: report}, nil
	}, intakes...)
}

// splitBatch holds a batch to its own form and leaves its missions as they came.
func (c *call) splitBatch(body []byte) ([]jsontext.Value, error) {
	tree, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	whole := *c.route.op.in.shape
	list := *whole.members["missions"]
	list.items = &shape{} // judged one by one
	whole.members = map[string]*shape{"missions": &list}
	var bad complaints
	whole.check(tree, "", &bad)
	if err := bad.err(fieldmark.CodeValidationFailed); err != nil {
		return nil, err
	}
	var batch struct {
		Missions []jsontext.Value `json:"missions"`
	}
	if err := jsonv2.Unmarshal(body, &batch); err != nil {
		return nil, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Err: err}
	}
	return batch.Missions, nil
}

// intake reads one mission of a batch.
func (c *call) intake(item jsontext.Value) (origin.Intake, error) {
	if len(item) > fieldmark.MaxBody {
		e := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "at most %d bytes for one mission", fieldmark.MaxBody)
		e.Limit = fieldmark.MaxBody
		return origin.Intake{}, e
	}
	var req fieldmark.MissionRequest
	one := c.route.op.in.shape.members["missions"].items
	if err := one.decode(item, &req, func() []fieldmark.FieldError { return checkMission(&req) }); err != nil {
		return origin.Intake{}, err
	}
	return origin.NewIntake(c.key.Account, req)
}

// itemRefusal is what is wrong with one mission; nil where something is wrong
// with us.
func itemRefusal(err error) *fieldmark.Error {
	if e, ok := errors.AsType[*fieldmark.Error](err); ok && e.Code.Status() < http.StatusInternalServerError {
		return e
	}
	return nil
}
