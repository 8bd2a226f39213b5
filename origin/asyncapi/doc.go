// Package asyncapi describes the webhook messages in the form of AsyncAPI 3.0.0.
//
// The input is the OpenAPI document of the API: its webhooks become messages, with the same
// schemas, examples and texts, so that the two descriptions cannot differ. The output is the
// JSON document at fieldmark.PathAsyncAPI.
//
// The package does not know the event types or their Go types.
package asyncapi
