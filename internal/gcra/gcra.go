package gcra

import "time"

// Wait returns how long a request must wait, 0 if it is allowed now. ahead is how far the time up to which the rate of
// its key is used lies in the future; below 0 nothing is used. An allowed request moves that time on by interval, from
// now at the earliest. burst requests, at least 1, are allowed at once.
func Wait(ahead, interval time.Duration, burst int) time.Duration {
	return max(max(ahead, 0)-time.Duration(burst-1)*interval, 0)
}
