package author

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// exhaust uses CPU time or memory until a limit ends the process. TestLimits runs it in
// a child process.
func exhaust() {
	if err := limitProcess(1, 1<<30); err != nil {
		fmt.Println("limit:", err)
		os.Exit(2)
	}
	if len(os.Args) > 1 && os.Args[1] == "memory" {
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 64<<20))
			if len(all) > 64 { // 4 GiB, four times the limit
				fmt.Println("got everything")
				os.Exit(0)
			}
		}
	}
	for began := time.Now(); time.Since(began) < time.Minute; {
		_ = began // the limit is one second
	}
	fmt.Println("was let run for a minute")
}

// A process that compiles untrusted code is ended when it exceeds a limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	kinds := []string{"time"}
	if !raceDetector {
		kinds = append(kinds, "memory") // not limited under the race detector
	}
	for _, kind := range kinds {
		path, err := exec.LookPath("exhaust")
		must(t, err)
		said, err := exec.Command(path, kind).CombinedOutput()
		// The runtime may crash on its first failed mapping, before it writes anything else.
		if err == nil || bytes.HasPrefix(said, []byte("limit:")) ||
			bytes.Contains(said, []byte("got everything")) || bytes.Contains(said, []byte("was let run")) {
			t.Errorf("%s: ended with %v, saying %.200s", kind, err, said)
		}
	}
}
