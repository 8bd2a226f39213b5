// Package studytest makes studies of answers for tests: documents of form 2 that can be ranked.
package studytest
