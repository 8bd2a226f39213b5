package safehttp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Decode returns a reader of the content of a response to a request that accepts gzip (RFC 9110, section 8.4).
// A server that has nothing to send may omit the gzip header, so an empty body is valid. Decode sets no limit,
// and a few kilobytes can decompress to gigabytes: callers bound what they read.
func Decode(body io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
	default:
		return nil, fmt.Errorf("the response has the content encoding %.20q, which was not requested", encoding)
	}
	z, err := gzip.NewReader(body)
	if errors.Is(err, io.EOF) {
		return bytes.NewReader(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return z, nil
}
