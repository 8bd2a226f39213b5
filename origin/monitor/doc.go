// Package monitor lists what is wrong with an installation, and counts what it does.
//
// Input: the database, the services of the origin, the reports of edges and the process
// itself. Output: the list of issues, each with its effect and what to do, and counts per
// minute and per hour for charts. An issue is derived from the present state each time and is
// stored nowhere, so that it ends with its cause. The package must not know HTTP or HTML.
package monitor
