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
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > 5*time.Minute || age < -5*time.Minute {
		return false
	}
	kind, encoded, _ := strings.Cut(key, "_")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	for _, one := range strings.Fields(signatures) {
		scheme, encoded, _ := strings.Cut(one, ",")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		if scheme == "v1" && kind == "whsec" {
			mac := hmac.New(sha256.New, raw)
			mac.Write(content)
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
	body, err := io.ReadAll(os.Stdin)
	if err != nil || len(os.Args) != 5 || !verify(os.Args[1], os.Args[2], os.Args[3], os.Args[4], body) {
		fmt.Println("bad")
		os.Exit(1)
	}
	fmt.Println("good")
}
