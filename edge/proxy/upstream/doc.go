// Package upstream is a pool of origins behind one http.RoundTripper.
//
// It picks the healthy origin with the fewest requests in flight, gives every phase of
// an exchange its own time limit, retries on another origin only where a request cannot
// take effect twice, and removes the fields that belong to one connection.
//
// It uses net/http's client with connections that refuse unsolicited bytes, so that no
// response is ever served to the wrong request. It must not know what requests are
// about, who sends them, or what is cached.
package upstream
