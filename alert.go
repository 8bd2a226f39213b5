package fieldmark

// AlertOutcome is what became of a signal.
type AlertOutcome string

// The outcomes of a signal that has a mission.
const (
	AlertCreated  AlertOutcome = "CREATED"  // it opened one
	AlertMerged   AlertOutcome = "MERGED"   // it is about one that is there
	AlertResolved AlertOutcome = "RESOLVED" // it is over
)

// AlertReport answers a notification of an alerting tool.
type AlertReport struct {
	Received int            `json:"received"` // alerts in the notification
	Created  int            `json:"created"`  // missions opened
	Merged   int            `json:"merged"`   // signals of missions that were there
	Resolved int            `json:"resolved"` // signals that are over
	Ignored  int            `json:"ignored"`  // alerts that always fire, and ends of what nobody knows
	Missions []AlertMission `json:"missions"`
}

// AlertMission is a mission that a notification is about.
type AlertMission struct {
	ID         string       `json:"id"`
	ExternalID string       `json:"externalId"`
	Outcome    AlertOutcome `json:"outcome"`
}

// Add counts what became of a signal.
func (r *AlertReport) Add(m Mission, outcome AlertOutcome) {
	switch outcome {
	case AlertCreated:
		r.Created++
	case AlertMerged:
		r.Merged++
	case AlertResolved:
		r.Resolved++
	}
	r.Missions = append(r.Missions, AlertMission{ID: m.ID, ExternalID: m.ExternalID, Outcome: outcome})
}
