package sdk_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/sdktest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/api"
)

var chaos = flag.Bool("chaos", false, "1,000 missions for each client at a server that fails two of three times")

// TestHostileServer plays the scenario of a hostile server with each client: it repeats what is safe and useful,
// reads no more than it should, and waits no longer. Of a server that fails two of three times it gets one
// mission for each that it opens.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	runs := 20
	if *chaos {
		runs = 1000
	}
	const nodeToken = "node-token-of-the-tests"
	service, err := origin.New(origin.Config{Store: storetest.Open(t, storetest.New(t)),
		Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(api.Config{Service: service, NodeToken: nodeToken, PublicAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	key, err := service.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "sdk",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate, fieldmark.ScopeMissionRead}})
	if err != nil {
		t.Fatal(err)
	}
	server := newHostile(t, handler)
	players := 0
	sdktest.Play(t, "hostile.json", func(player string) sdktest.Variables {
		players++
		return sdktest.Variables{"url": server.URL + "/" + player, "key": key.Token, "runs": runs}
	})
	missions, cursor := 0, ""
	for {
		page, err := service.Missions.List(t.Context(), access.DefaultAccount, fieldmark.MissionFilter{Source: "flaky",
			Limit: fieldmark.MaxMissionLimit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		missions += len(page.Data)
		if cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	if missions != players*runs {
		t.Errorf("%d clients opened %d missions each, and there are %d", players, runs, missions)
	}
}
