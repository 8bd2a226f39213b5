// Package engine calls the APIs of answer engines, one adapter for each API.
//
// Input is a question; output is an Exchange, the stored form of a call, and the Answer that is read from it.
// Reading is apart from asking, so that answers on disk can be read again. The package has no brands, no budget
// and no schedule. It sends nothing besides the question that the configuration does not name: no system prompt
// and no temperature.
package engine
