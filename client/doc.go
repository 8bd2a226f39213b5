// Package client is the Go client of the Fieldmark API for integrators: missions, webhooks and scores.
//
//	c, err := client.New(client.Config{BaseURL: "https://geo.example", Key: os.Getenv("FIELDMARK_API_KEY")})
//	m, err := c.Open(ctx, fieldmark.MissionRequest{
//		Source: "billing", ExternalID: "INV-17", Title: "Check the meter"}, nil)
//
// Parameters and results are the types of package fieldmark, and every error is a *fieldmark.Error with a
// code, also that of a failed connection or of a forged message. Calls that failed because the server was busy
// or the connection was lost are repeated, if repeating them cannot have a second effect.
//
// The package depends on the standard library and package fieldmark only. It has the calls of integrators,
// not those of administrators and edges.
package client
