package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// maxNetLogLine bounds a line of a net log, in bytes. The longest is the first, with 50 kB.
const maxNetLogLine = 1 << 20

// quicEnds are the events of a net log that say why a connection or a stream of QUIC has ended. The console of a page
// has ERR_QUIC_PROTOCOL_ERROR for all of them.
var quicEnds = []string{"QUIC_SESSION_CLOSED", "QUIC_SESSION_CONNECTION_CLOSE_FRAME_RECEIVED",
	"QUIC_SESSION_RST_STREAM_FRAME_RECEIVED", "QUIC_SESSION_GOAWAY_FRAME_RECEIVED",
	"QUIC_PORT_MIGRATION_SUCCESS", "QUIC_PORT_MIGRATION_FAILURE"}

// logQUICEnds logs the events of quicEnds in a net log of Chromium, which has one event a line.
func logQUICEnds(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Logf("the net log: %v", err)
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxNetLogLine)
	names := map[int]string{}
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte(","))
		var head struct {
			Constants struct{ LogEventTypes map[string]int }
		}
		if len(names) == 0 && json.Unmarshal(append(slices.Clone(line), '}'), &head) == nil {
			for name, number := range head.Constants.LogEventTypes {
				names[number] = name
			}
			continue
		}
		var event struct {
			Time   string
			Type   int
			Params json.RawMessage
		}
		if json.Unmarshal(line, &event) == nil && slices.Contains(quicEnds, names[event.Type]) {
			t.Logf("net log: %s ms: %s %s", event.Time, names[event.Type], event.Params)
		}
	}
	if err := lines.Err(); err != nil {
		t.Logf("the net log: %v", err)
	}
}
