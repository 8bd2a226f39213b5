package admin

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// nodeLine is an edge as it was heard of last.
type nodeLine struct {
	fieldmark.NodeReport
	Lag   int64  // events it has not applied
	Ratio string // of answers that came from its cache
	Right bool   // it scores by the module that is in force
}

type nodesData struct {
	Head  int64
	Nodes []nodeLine
}

func nodeLines(status fieldmark.ModuleStatus, head int64) (lines []nodeLine) {
	for _, r := range status.Nodes {
		line := nodeLine{NodeReport: r, Lag: max(head-r.Cursor, 0), Right: r.Module.Digest == status.Plan.Digest}
		if all := r.Hits + r.Misses; all > 0 {
			line.Ratio = strconv.FormatFloat(100*float64(r.Hits)/float64(all), 'f', 1, 64) + " %"
		}
		lines = append(lines, line)
	}
	return lines
}

// nodes lists the edges heard of in the last minutes.
func (a *area) nodes(v *visit) error {
	head, err := a.origin.Events.Head(v.r.Context())
	if err != nil {
		return err
	}
	status, err := a.origin.Modules.ModuleStatus(v.r.Context())
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	return a.show(v, http.StatusOK, "nodes", page{Title: "Nodes", Data: nodesData{Head: head, Nodes: nodeLines(status, head)}})
}
