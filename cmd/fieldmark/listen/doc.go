// Package listen opens the listeners of a process and serves net/http on them.
//
// A listener is a TCP address, a socket that a service manager opened before the process
// started (sd_listen_fds(3)), or one in memory, by which an edge reaches the origin of the same
// process.
//
// The package is independent of routes and settings, except for the names in its errors.
package listen
