package client

import (
	"context"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// LinkAPI contains the calls of secret links, whose address is all that opens them: calendar feeds
// and the pages of technicians.
type LinkAPI struct{ *caller }

// CreateCalendar creates a calendar feed. Only this response has its address.
func (c LinkAPI) CreateCalendar(ctx context.Context, r fieldmark.CalendarRequest) (fieldmark.NewCalendar, error) {
	return post[fieldmark.NewCalendar](ctx, c.caller, "calendars", r)
}

// Calendars lists every calendar feed.
func (c LinkAPI) Calendars(ctx context.Context) ([]fieldmark.Calendar, error) {
	list, err := get[fieldmark.List[fieldmark.Calendar]](ctx, c.caller, "calendars", nil)
	return list.Data, err
}

// RotateCalendar replaces the address of a feed; the old one stops working at once.
func (c LinkAPI) RotateCalendar(ctx context.Context, id string) (fieldmark.NewCalendar, error) {
	return post[fieldmark.NewCalendar](ctx, c.caller, "calendars/"+url.PathEscape(id)+"/rotate", nil)
}

// RevokeCalendar revokes a feed.
func (c LinkAPI) RevokeCalendar(ctx context.Context, id string) (fieldmark.Calendar, error) {
	return post[fieldmark.Calendar](ctx, c.caller, "calendars/"+url.PathEscape(id)+"/revoke", nil)
}

// CreateTechnicianLink creates the link to the page of a technician. Only this response has its
// address.
func (c LinkAPI) CreateTechnicianLink(ctx context.Context,
	r fieldmark.TechnicianLinkRequest) (fieldmark.NewTechnicianLink, error) {
	return post[fieldmark.NewTechnicianLink](ctx, c.caller, "technician-links", r)
}

// TechnicianLinks lists the links to pages of technicians.
func (c LinkAPI) TechnicianLinks(ctx context.Context) ([]fieldmark.TechnicianLink, error) {
	list, err := get[fieldmark.List[fieldmark.TechnicianLink]](ctx, c.caller, "technician-links", nil)
	return list.Data, err
}

// RotateTechnicianLink replaces the address and the end of a link; the old address stops working at
// once.
func (c LinkAPI) RotateTechnicianLink(ctx context.Context, id string,
	r fieldmark.TechnicianLinkRotation) (fieldmark.NewTechnicianLink, error) {
	return post[fieldmark.NewTechnicianLink](ctx, c.caller, "technician-links/"+url.PathEscape(id)+"/rotate", r)
}

// RevokeTechnicianLink revokes a link.
func (c LinkAPI) RevokeTechnicianLink(ctx context.Context, id string) (fieldmark.TechnicianLink, error) {
	return post[fieldmark.TechnicianLink](ctx, c.caller, "technician-links/"+url.PathEscape(id)+"/revoke", nil)
}
