package webhook

import (
	"context"
	"errors"
	"time"
)

// DeliverWorld sends what is due to the endpoints in the world of a test account, whose clock must be advancing:
// the dispatcher of test worlds then leaves it out. It returns when every result is recorded, with the numbers of
// first and of repeated attempts. After limit attempts it claims nothing more: a receiver that causes an event for each
// message would keep it here without end.
func DeliverWorld(ctx context.Context, s *Service, account string, limit int) (first, retries int, err error) {
	d := &dispatcher{Service: s, limit: maxTestSending, worlds: true, account: account}
	results := make(chan result, d.limit)
	var kept []result
	for inFlight := 0; ; {
		left := limit - first - retries - len(kept) - inFlight
		jobs, next, err := d.dispatchOnce(ctx, kept, min(d.limit-inFlight, left))
		if err != nil { // attempts whose results are not recorded are made again when their leases end
			return first, retries, errors.Join(err, d.drain(ctx, kept, inFlight+len(kept), results))
		}
		for _, r := range kept {
			if r.job.Attempts == 0 {
				first++
			} else {
				retries++
			}
		}
		kept = nil
		inFlight += len(jobs)
		for _, j := range jobs {
			s.jobs.Hold(j.lease())
			go d.send(ctx, j, results)
		}
		if inFlight == 0 {
			if left <= 0 || next.IsZero() || time.Until(next) > 0 {
				return first, retries, nil
			}
			continue
		}
		kept = collect([]result{<-results}, results, inFlight)
		inFlight -= len(kept)
	}
}
