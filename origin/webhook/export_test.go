package webhook

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// Body is the body of a message.
func Body(m Message, s fieldmark.EndpointSettings) ([]byte, error) {
	return m.write(&s, http.Header{})
}
