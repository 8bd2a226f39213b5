//go:build ignore

package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// verify reports whether a message has a valid signature and a recent timestamp. The
// key is a shared secret, whsec_…, or a public key, whpk_….
func verify(key, id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// A message older than five minutes may be a replay; a younger one is recognized by its id, which the receiver
	// keeps.
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > 5*time.Minute || age < -5*time.Minute {
		return false
	}
	kind, encoded, _ := strings.Cut(key, "_")
	// The key decides the scheme: a public key used as an HMAC secret would let anyone who has it sign.
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	// The body is signed as it was received: JSON that is parsed and encoded again has other bytes.
	content := append([]byte(id+"."+timestamp+"."), body...)
	// There are several signatures while a secret is rotated; one that matches is enough.
	for _, one := range strings.Fields(signatures) {
		scheme, encoded, _ := strings.Cut(one, ",")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		if scheme == "v1" && kind == "whsec" {
			mac := hmac.New(sha256.New, raw)
			mac.Write(content)
			// In constant time, so that the response time does not reveal how many bytes match.
			if hmac.Equal(signature, mac.Sum(nil)) {
				return true
			}
		}
		if scheme == "v1a" && kind == "whpk" && len(raw) == ed25519.PublicKeySize &&
			ed25519.Verify(raw, content, signature) {
			return true
		}
	}
	return false
}

func main() {
	// The body is read as bytes from standard input: arguments cannot hold every byte.
	body, err := io.ReadAll(os.Stdin)
	if err != nil || len(os.Args) != 5 || !verify(os.Args[1], os.Args[2], os.Args[3], os.Args[4], body) {
		fmt.Println("bad")
		os.Exit(1)
	}
	fmt.Println("good")
}
