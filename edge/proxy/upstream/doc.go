// Package upstream is a pool of origins behind one http.RoundTripper.
//
// It picks the healthy origin with the fewest requests in flight, gives every phase of an
// exchange a separate time limit, retries on another origin only where a request cannot
// take effect twice, and removes hop-by-hop fields.
//
// It uses net/http's client with connections that refuse unsolicited bytes, so that no
// response is ever served to the wrong request. The package does not depend on the content
// of requests, on who sends them, or on what is cached.
package upstream
