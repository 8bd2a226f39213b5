package api

import (
	"context"
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/testclock"
	"github.com/fieldmark/fieldmark/origin/testworld"
)

// testKey names a test key of the account of the caller's key.
type testKey struct{ account, id string }

// testKeyParam reads the id of a test key; the account is that of the caller, whose keys alone can be managed.
func testKeyParam(c *call) (testKey, error) {
	id, err := idParam(fieldmark.PrefixKey)(c)
	return testKey{c.key.Account, id}, err
}

// revokeTestKey revokes a test key. A key of another account is not found.
func (a *accessAPI) revokeTestKey(ctx context.Context, k testKey) error {
	return a.keys.RevokeTest(ctx, k.account, k.id)
}

// testWorldAPI serves test worlds to the keys of their accounts.
type testWorldAPI struct{ worlds *testworld.Service }

func (a *testWorldAPI) routes() []*route {
	return []*route{
		{"POST", fieldmark.PathTestReset, anyKey, handleParam(worldOf, a.worlds.Reset), operation{
			id: "resetTestWorld", summary: "Delete everything in a test world; its keys stay", status: []int{202}}},
		{"GET", fieldmark.PathTestReset, anyKey, handleParam(worldOf, a.worlds.Get), operation{
			id: "getTestWorld", summary: "Get the state of a test world"}},
	}
}

// worldOf returns the test account of a test key, or of a live key that manages test keys.
// The world is of the account, not of the key: all test keys of an account share one world and one clock.
func worldOf(c *call) (string, error) {
	if !c.key.Test && !c.key.Allows(fieldmark.ScopeKeyTest) {
		e := fieldmark.Errorf(fieldmark.CodeInsufficientScope, "send a test key, or a live key with the scope %s",
			fieldmark.ScopeKeyTest)
		e.Scope = fieldmark.ScopeKeyTest
		return "", e
	}
	return fieldmark.TestAccount(c.key.Account), nil
}

// testClockAPI reads and advances the clocks of test worlds.
type testClockAPI struct{ clocks *testclock.Service }

// routes are for test keys, and for live keys that manage them.
func (a *testClockAPI) routes() []*route {
	return []*route{
		{"GET", fieldmark.PathTestClock, anyKey, handleParam(worldOf, a.clocks.Get), operation{
			id: "getTestClock", summary: "Get the time of the test world"}},
		{"PUT", fieldmark.PathTestClock, anyKey, handleRaw[fieldmark.TestClockRequest, fieldmark.TestClock](a.advance),
			operation{id: "advanceTestClock", status: []int{200, 202},
				summary: "Advance the time of the test world; what becomes due fires in order",
				// The handler waits for the advance for TestClockWait at most, and then responds with 202.
				timeout: fieldmark.TestClockWait + handlerTimeout}},
	}
}

// setWorld puts the time of the test world on the response.
func (c *call) setWorld(clock *fieldmark.TestClock) {
	// Clients that log headers can distinguish a test from a live response without reading the body.
	c.w.Header().Set(fieldmark.HeaderWorld, "test; now="+clock.Now.String())
}

// advance sends the clock with 200 when it has arrived, and with 202 while it advances.
func (a *testClockAPI) advance(c *call) error {
	account, err := worldOf(c)
	if err != nil {
		return err
	}
	r, err := decodeBody[fieldmark.TestClockRequest](c)
	if err != nil {
		return err
	}
	clock, err := a.clocks.Advance(c.r.Context(), account, r)
	if err != nil {
		return err
	}
	c.setWorld(&clock)
	if clock.State == fieldmark.TestClockAdvancing {
		return c.send(http.StatusAccepted, clock)
	}
	return c.send(http.StatusOK, clock)
}
