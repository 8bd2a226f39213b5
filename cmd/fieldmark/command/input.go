package command

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Open opens a file for reading; the name "-" means standard input.
func (s *Streams) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.In), nil
	}
	return os.Open(name)
}

// ReadFile reads a file, or standard input for "-". A file larger than one bulk
// request (fieldmark.MaxBulkBody) is an error: no server would accept it.
func (s *Streams) ReadFile(name string) ([]byte, error) {
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fieldmark.MaxBulkBody+1))
	if err == nil && len(b) > fieldmark.MaxBulkBody {
		err = fmt.Errorf("%s is larger than %d bytes", name, fieldmark.MaxBulkBody)
	}
	return b, err
}

// ReadSecret returns a secret that is given by value or by file. Giving both is an
// error, because one of them would be ignored.
func ReadSecret(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("a secret and its file %s are both given; give one", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// AddScheme adds https:// to a host name that was typed without a scheme.
func AddScheme(site string) string {
	if strings.Contains(site, "://") || !strings.Contains(site, ".") {
		return site
	}
	return "https://" + site
}

// HostOf returns the host of an address without a leading "www.".
func HostOf(site string) string {
	u, err := url.Parse(site)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}
