// Package upstream asks origins over HTTP: it is the far half of a reverse
// proxy.
//
// A request comes in as an http.RoundTripper gets it; an answer of one of
// several origins goes out. In between it chooses the origin with the fewest
// requests under way among those that are well, gives every phase of the
// exchange its own time limit, tries another origin only where nothing can
// happen twice, and takes out what belongs to one connection alone.
//
// It is net/http's client beneath, which drops a kept connection that holds
// bytes nobody asked for, so that no answer is ever served to the wrong
// question. It must not know what is asked for, who asks, or what is cached.
package upstream
