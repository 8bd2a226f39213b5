package author

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// glutton takes processor time or memory without end, within the limits of a
// check. It is run as a process by TestLimits.
func glutton() {
	if err := limitProcess(1, 1<<30); err != nil {
		fmt.Println("limit:", err)
		os.Exit(2)
	}
	fmt.Println("limited")
	if len(os.Args) > 1 && os.Args[1] == "memory" {
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 64<<20))
			if len(all) > 64 { // 4 GiB, four times what is allowed
				fmt.Println("got everything")
				os.Exit(0)
			}
		}
	}
	for began := time.Now(); time.Since(began) < time.Minute; {
		_ = began // a second of this is all there is
	}
	fmt.Println("was let run for a minute")
}

// TestLimits wants a process that compiles what a stranger made to be ended when
// it takes too much.
func TestLimits(t *testing.T) {
	t.Parallel()
	kinds := []string{"time"}
	if !raceDetector {
		kinds = append(kinds, "memory") // not bounded under it
	}
	for _, kind := range kinds {
		path, err := exec.LookPath("glutton")
		must(t, err)
		said, err := exec.Command(path, kind).CombinedOutput()
		if err == nil || !bytes.HasPrefix(said, []byte("limited\n")) || bytes.Contains(said, []byte("got everything")) || bytes.Contains(said, []byte("was let run")) {
			t.Errorf("%s: ended with %v, saying %.200s", kind, err, said)
		}
	}
}
