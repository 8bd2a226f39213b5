package attachment

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// ParseName returns the name of a file in a Content-Disposition (RFC 6266), "" without one.
func ParseName(field string) (string, error) {
	if field == "" {
		return "", nil
	}
	_, params, err := mime.ParseMediaType(field) // reads filename* too, which has precedence
	if err != nil {
		return "", fieldmark.Errorf(fieldmark.CodeValidationFailed,
			`Content-Disposition must have the form attachment; filename="photo.jpg"`)
	}
	return params["filename"], nil
}

// ParseDigest returns the SHA-256 digest of the fields Content-Digest of a request (RFC 9530), ""
// without one. Other algorithms are ignored, as the RFC demands.
func ParseDigest(fields []string) (fieldmark.Digest, error) {
	for member := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		name, value, _ := strings.Cut(strings.Trim(member, " \t"), "=")
		if name != "sha-256" {
			continue
		}
		value, _, _ = strings.Cut(value, ";") // parameters (RFC 9651, section 3.1.2)
		text, ok := strings.CutPrefix(strings.TrimSpace(value), ":")
		text, closed := strings.CutSuffix(text, ":")
		sum, err := base64.StdEncoding.DecodeString(text)
		if !ok || !closed || err != nil || len(sum) != sha256.Size {
			return "", fieldmark.Errorf(fieldmark.CodeDigestMismatch,
				"Content-Digest must have the form sha-256=:BASE64: with a digest of %d bytes", sha256.Size)
		}
		return fieldmark.DigestOf([sha256.Size]byte(sum)), nil
	}
	return "", nil
}

// SetHeader sets the fields of a response that sends the content. A browser saves the file and
// never shows it: a file of a stranger that is shown runs in the site of the console, if a
// browser takes it for HTML. Caches do not keep it.
func (c Content) SetHeader(h http.Header) {
	contentType := c.ContentType
	if strings.HasPrefix(contentType, "text/") {
		contentType += "; charset=utf-8"
	}
	name := cmp.Or(c.Name, cleanName(c.ID, c.ContentType))
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(c.Size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	if sum, err := hex.DecodeString(strings.TrimPrefix(string(c.Digest), "sha256:")); err == nil {
		h.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	}
}
