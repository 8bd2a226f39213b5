package webhook

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

const missionsOnly = "an endpoint with a filter receives events of missions only"

// CheckFilter returns the errors of a filter and of the customer it belongs to; at is the pointer to the
// object that has both. A customer needs a filter: without one, its endpoints would receive the events of
// all missions of the account.
func CheckFilter(at, customer string, f *fieldmark.EndpointFilter) (bad validation.Errors) {
	if utf8.RuneCountInString(customer) > fieldmark.MaxEndpointCustomer {
		bad.Add(at+"/customer", "too_long", fmt.Sprintf("must have at most %d characters",
			fieldmark.MaxEndpointCustomer))
	}
	bad.Line(at+"/customer", customer)
	if f == nil {
		if customer != "" {
			bad.Add(at+"/filter", "required", "must have the labels of the missions of the customer")
		}
		return bad
	}
	labels := at + "/filter/labels"
	if n := len(f.Labels); n == 0 || n > fieldmark.MaxEndpointFilterLabels {
		bad.Add(labels, "range", fmt.Sprintf("must have 1 to %d labels", fieldmark.MaxEndpointFilterLabels))
		return bad
	}
	for _, k := range slices.Sorted(maps.Keys(f.Labels)) {
		pointer := validation.Pointer(labels, k)
		if n := utf8.RuneCountInString(k); n == 0 || n > fieldmark.MaxLabelKey {
			bad.Add(pointer, "range", fmt.Sprintf("a key must have 1 to %d characters", fieldmark.MaxLabelKey))
		}
		if utf8.RuneCountInString(f.Labels[k]) > fieldmark.MaxLabelValue {
			bad.Add(pointer, "too_long", fmt.Sprintf("must have at most %d characters", fieldmark.MaxLabelValue))
		}
		bad.Line(pointer, k)
		bad.Multiline(pointer, f.Labels[k])
	}
	return bad
}

// checkFilter returns the errors of the filter of an endpoint, also those of settings that contradict it.
func checkFilter(r *fieldmark.EndpointRequest) validation.Errors {
	bad := CheckFilter("", r.Customer, r.Filter)
	if r.Filter == nil {
		return bad
	}
	if len(r.Brands) > 0 {
		bad.Add("/brands", "conflict", missionsOnly)
	}
	for i, p := range r.Events {
		if event.ValidPattern(p) && !matchesMissionEvent(p) {
			bad.Add(fmt.Sprintf("/events/%d", i), "conflict", missionsOnly)
		}
	}
	return bad
}

// matchesMissionEvent reports whether a pattern matches a type of event about missions.
func matchesMissionEvent(pattern string) bool {
	return slices.ContainsFunc(event.Kinds(), func(k event.Kind) bool {
		return k.Type.AboutMission() && fieldmark.MatchEvent(pattern, k.Type)
	})
}

// checkCustomer returns the error of an endpoint of a customer that has, or whose account has, as many of
// them as it may; others are the other endpoints of the account.
func checkCustomer(e *store.Endpoint, others []store.Subscriber) error {
	same, all := 0, 0
	for i := range others {
		switch others[i].Customer {
		case "":
		case e.Customer:
			same++
			fallthrough
		default:
			all++
		}
	}
	if same >= fieldmark.MaxCustomerEndpoints {
		return fieldmark.Errorf(fieldmark.CodeTooMany, "a customer has at most %d endpoints",
			fieldmark.MaxCustomerEndpoints)
	}
	if all >= fieldmark.MaxEndpointsOfCustomers {
		return fieldmark.Errorf(fieldmark.CodeTooMany, "the customers of an account have at most %d endpoints together",
			fieldmark.MaxEndpointsOfCustomers)
	}
	return nil
}

// withoutCustomer counts the endpoints that are of no customer.
func withoutCustomer(endpoints []store.Subscriber) (n int) {
	for i := range endpoints {
		if endpoints[i].Customer == "" {
			n++
		}
	}
	return n
}

// selects reports whether an endpoint receives an event of a type about a mission with labels.
func selects(e *store.Endpoint, t fieldmark.EventType, labels map[string]string) bool {
	return e.Filter.Matches(labels) && matches(e.Events, t)
}
