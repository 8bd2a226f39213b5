package site

import "github.com/fieldmark/fieldmark"

// StatusPage is the data of the status page of a node.
type StatusPage struct {
	BaseURL     string // scheme and host of the site, without a slash at the end
	Node        string // its name among others
	InStep      bool   // whether it receives events from the origin
	Event       int64  // the newest event it has applied
	Now         fieldmark.Time
	Ranked      int // brands
	Pending     int
	Unreachable int
	AsOf        *fieldmark.Time // of the newest audit ranked
	Snapshot    string          // of the ranking; empty before the first
	Methodology fieldmark.Methodology
	Module      fieldmark.ModuleRef

	Certificates []CertificateStatus // the soonest to expire first
}

// CertificateStatus is the TLS certificate of a name.
type CertificateStatus struct {
	Name     string
	Issued   bool
	DaysLeft int
	Expires  fieldmark.Time
}

// statusView is what templates/status.html shows.
type statusView struct {
	Head head
	Page *StatusPage
}

func newStatusView(c chrome, p *StatusPage) *statusView {
	v := &statusView{Page: p, Head: fixedHead(c, p.BaseURL, PathStatus, "Status of this node",
		"Whether this node hears from the record, and what it ranks by.")}
	v.Head.Index = false
	return v
}
