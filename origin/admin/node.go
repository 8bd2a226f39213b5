package admin

import (
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
)

// nodeRow is the latest report of an edge.
type nodeRow struct {
	fieldmark.NodeReport
	Lag    int64  // events it has not applied
	Ratio  string // of cache hits
	InSync bool   // it uses the active module
}

type nodesData struct {
	Head  int64
	Nodes []nodeRow
}

func newNodeRows(status fieldmark.ModuleStatus, head int64) (lines []nodeRow) {
	for _, r := range status.Nodes {
		line := nodeRow{NodeReport: r, Lag: max(head-r.Cursor, 0), InSync: r.Module.Digest == status.Plan.Digest}
		if all := r.Hits + r.Misses; all > 0 {
			line.Ratio = strconv.FormatFloat(100*float64(r.Hits)/float64(all), 'f', 1, 64) + " %"
		}
		lines = append(lines, line)
	}
	return lines
}

// nodes lists the edges that have reported in the last minutes.
func (h *handler) nodes(req *request) error {
	head, err := h.origin.Events.Head(req.r.Context())
	if err != nil {
		return err
	}
	status, err := h.origin.Modules.Status(req.r.Context())
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	d := nodesData{Head: head, Nodes: newNodeRows(status, head)}
	return h.show(req, http.StatusOK, "nodes", page{Title: "Nodes", Data: d})
}
