// Package snapshot makes ranking files, from which edges start without scoring all brands.
//
// Input: the standings in the database. Output: files in the store of objects, their list, and their contents. The
// package computes no scores, and does not know HTTP.
package snapshot
