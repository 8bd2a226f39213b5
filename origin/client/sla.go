package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark"
)

// SLAAPI contains the calls for business hours and SLA policies.
type SLAAPI struct{ *caller }

// SLAPolicies lists the active policies, the most urgent priority first.
func (c SLAAPI) SLAPolicies(ctx context.Context) ([]fieldmark.SLAPolicy, error) {
	list, err := get[fieldmark.List[fieldmark.SLAPolicy]](ctx, c.caller, "sla/policies", nil)
	return list.Data, err
}

// PatchSLAPolicy updates the policy of a priority.
func (c SLAAPI) PatchSLAPolicy(
	ctx context.Context, priority fieldmark.Priority, p fieldmark.SLAPolicyPatch,
) (fieldmark.SLAPolicy, error) {
	return patch[fieldmark.SLAPolicy](ctx, c.caller, "sla/policies/"+url.PathEscape(string(priority)), p)
}

// ResetSLAPolicy resets the policy of a priority to the built-in one.
func (c SLAAPI) ResetSLAPolicy(ctx context.Context, p fieldmark.Priority) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "sla/policies/"+url.PathEscape(string(p))), nil)
	return err
}

// SLACalendars lists the active business hours by name.
func (c SLAAPI) SLACalendars(ctx context.Context) ([]fieldmark.SLACalendar, error) {
	list, err := get[fieldmark.List[fieldmark.SLACalendar]](ctx, c.caller, "sla/calendars", nil)
	return list.Data, err
}

// PutSLACalendar sets business hours.
func (c SLAAPI) PutSLACalendar(ctx context.Context, cal fieldmark.SLACalendar) (fieldmark.SLACalendar, error) {
	body := struct {
		TimeZone        string               `json:"timeZone"`
		FollowsLocation bool                 `json:"followsLocation"`
		Hours           []fieldmark.SLAHours `json:"hours"`
		Holidays        []fieldmark.Holiday  `json:"holidays,omitempty"`
	}{cal.TimeZone, cal.FollowsLocation, cal.Hours, cal.Holidays}
	return put[fieldmark.SLACalendar](ctx, c.caller, "sla/calendars/"+url.PathEscape(cal.Name), body)
}

// DeleteSLACalendar deletes business hours; built-in ones are reset.
func (c SLAAPI) DeleteSLACalendar(ctx context.Context, name string) error {
	_, err := c.do(ctx, c.admin(http.MethodDelete, "sla/calendars/"+url.PathEscape(name)), nil)
	return err
}
