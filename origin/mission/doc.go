// Package mission holds the rules of missions: which requests are valid, which
// status may follow which, and how a payment follows its mission.
package mission
