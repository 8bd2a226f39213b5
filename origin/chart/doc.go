// Package chart turns numbers over time into paths of an SVG and into sparklines.
//
// Input: the metrics of nodes. Output: charts with a scale, paths, the newest value and rows
// for a table. The package is pure and must not know HTML, HTTP or where the numbers come from.
package chart
