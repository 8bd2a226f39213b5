// Package logtest records what is logged during a test.
package logtest
