// Package releasedtest compares what callers rely on with the lists of testdata/released.
//
// Input: a list of the last release and the lines of today. Output: test failures for what is gone and for new demands;
// with `-args -release`, the list with what is new. It must not know what the lines are about.
package releasedtest
