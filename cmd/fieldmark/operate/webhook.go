package operate

// WebhookCmd manages webhook endpoints.
type WebhookCmd struct {
	Listen     webhookListenCmd     `cmd:"" help:"Register a temporary endpoint; verify, print and forward messages."`
	List       webhookListCmd       `cmd:"" help:"List endpoints and their health."`
	Create     webhookCreateCmd     `cmd:"" help:"Create an endpoint; its secret is shown only once."`
	Edit       webhookEditCmd       `cmd:"" help:"Change an endpoint."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"List deliveries, newest first, or show one with its attempts."`
	Test       webhookTestCmd       `cmd:"" help:"Send a test message and print the result."`
	Resend     webhookResendCmd     `cmd:"" help:"Resend one message, failed messages, or everything after an event."`
	Pause      webhookPauseCmd      `cmd:"" help:"Pause an endpoint; its messages are held."`
	Enable     webhookEnableCmd     `cmd:"" help:"Enable an endpoint."`
	Rotate     webhookRotateCmd     `cmd:"" help:"Rotate a secret; the previous one also signs for a grace period."`
	Delete     webhookDeleteCmd     `cmd:"" help:"Delete an endpoint and its pending messages."`
}
