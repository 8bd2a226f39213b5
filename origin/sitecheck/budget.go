package sitecheck

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

const day = 24 * time.Hour

// clientPrefix begins the names of the budgets of clients; the others are those of targets.
const clientPrefix = "check client "

// The limits of the network of a client: five checks an hour, three of them at once, are what a
// person compares; twenty a day are a day of that. Those of a host, for all clients together:
// at ten requests a check, sixty a day are less than a search engine makes.
const (
	ClientPerHour = 5
	ClientPerDay  = 20
	HostPerHour   = 2
	HostPerDay    = 6
)

// clientBudgets are those of the network of a client. An address would be personal data, and a
// client of IPv6 has many.
func clientBudgets(client netip.Addr) []store.Budget {
	network := fieldmark.NetworkOf(client)
	return []store.Budget{
		{Name: clientPrefix + "hour " + network.String(), Quota: ClientPerHour, Window: time.Hour, Burst: 3},
		{Name: clientPrefix + "day " + network.String(), Quota: ClientPerDay, Window: day, Burst: 5},
	}
}

// hostBudgets are those of a host, for all clients together.
func hostBudgets(host string) []store.Budget {
	return []store.Budget{
		{Name: "check host hour " + host, Quota: HostPerHour, Window: time.Hour, Burst: 2},
		{Name: "check host day " + host, Quota: HostPerDay, Window: day, Burst: 2},
	}
}

// domainBudgets are those of a registrable domain, which may have any number of hosts.
func domainBudgets(domain string) []store.Budget {
	return []store.Budget{
		{Name: "check domain hour " + domain, Quota: 6, Window: time.Hour, Burst: 6},
		{Name: "check domain day " + domain, Quota: 20, Window: day, Burst: 6},
	}
}

// networkBudget is that of the network that a check reached: of one with many domains.
func networkBudget(network netip.Prefix) store.Budget {
	return store.Budget{Name: "check network hour " + network.String(), Quota: 60, Window: time.Hour, Burst: 30}
}

// budgetError turns the refusal of a budget into the error that the client gets.
func budgetError(err error) error {
	refused, ok := errors.AsType[*store.BudgetError](err)
	if !ok {
		return err
	}
	b := refused.Budget
	e := &fieldmark.Error{Code: fieldmark.CodeHostBudget, RetryAfter: refused.RetryAfter}
	if strings.HasPrefix(b.Name, clientPrefix) {
		e.Code = fieldmark.CodeRateLimited
		e.Detail = fmt.Sprintf("your network may request %d checks %s", b.Quota, per(b.Window))
		return e
	}
	e.Detail = fmt.Sprintf("this %s may be checked %d times %s, by all clients "+
		"together", strings.Fields(b.Name)[1], b.Quota,
		per(b.Window))
	return e
}

func per(window time.Duration) string {
	if window == day {
		return "a day"
	}
	return "an hour"
}
