// Package technician serves the page of a technician: the missions of today and tomorrow, and forms
// for what happens on site. A secret link is the only credential, with a PIN if the dispatcher sets
// one.
//
// Forms change missions through packages mission and attachment, which decide what is allowed. The
// package must not know how a mission is dispatched and defines no transitions: a page offers what
// the mission allows.
package technician
