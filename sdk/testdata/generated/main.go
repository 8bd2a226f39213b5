// Command generated opens, reads and cancels a mission with a client that oapi-codegen made of the OpenAPI
// document: generated ADDRESS KEY.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	ctx := context.Background()
	c, err := NewClientWithResponses(os.Args[1], WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+os.Args[2])
			return nil
		}))
	check(err)
	opened, err := c.OpenMissionWithResponse(ctx, &OpenMissionParams{}, MissionRequest{Source: "generated",
		ExternalId: "1", Title: "Check the meter"})
	check(err)
	if opened.JSON201 == nil {
		log.Fatalf("open: %s: %s", opened.Status(), opened.Body)
	}
	got, err := c.GetMissionWithResponse(ctx, opened.JSON201.Id)
	check(err)
	if got.JSON200 == nil || got.JSON200.Title != "Check the meter" || got.JSON200.Status != "NEW" {
		log.Fatalf("get: %s: %s", got.Status(), got.Body)
	}
	canceled, err := c.CancelMissionWithResponse(ctx, got.JSON200.Id, &CancelMissionParams{},
		CancelMissionJSONRequestBody{})
	check(err)
	if canceled.JSON200 == nil || canceled.JSON200.Status != "CANCELED" {
		log.Fatalf("cancel: %s: %s", canceled.Status(), canceled.Body)
	}
	fmt.Println(canceled.JSON200.Id)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
