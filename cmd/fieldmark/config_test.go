package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Processes that start at the same time in an empty folder must derive their keys from
// the same secret.
func TestGeneratedSecretIsOne(t *testing.T) {
	for range 50 {
		dir := t.TempDir()
		path := filepath.Join(dir, "data", "secret")
		var secrets [8]string
		var all sync.WaitGroup
		for i := range secrets {
			all.Go(func() {
				secret, err := generatedSecret(path)
				if err != nil {
					t.Errorf("secret %d: %v", i, err)
				}
				secrets[i] = secret
			})
		}
		all.Wait()
		for i, s := range secrets {
			if s != secrets[0] || len(s) < minSecret {
				t.Fatalf("start %d has the secret %q, start 0 %q", i, s, secrets[0])
			}
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the file: %v, %v; want mode 0600", info, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "data", ".secret-*")); len(left) > 0 {
			t.Fatalf("files are left: %v", left)
		}
	}
}
