package sdktest

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Folder returns the folder sdk of the repository: tests run in the folder of their package.
func Folder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		// The root of the repository is the only folder with go.mod above the tests.
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(dir, "sdk")
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		err = os.ErrNotExist
	}
	t.Fatal(err)
	return ""
}

// Variables are the variables of a scenario for one player. Each needs url and key.
type Variables map[string]any

// Play plays a scenario of sdk/testdata in every language. Given returns the variables for a player. Without
// Node.js or Python it skips their part on a developer's machine and fails it in CI.
func Play(t *testing.T, scenario string, given func(player string) Variables) {
	t.Helper()
	data, dir := filepath.Join(Folder(t), "testdata"), t.TempDir()
	play := func(player string, command ...string) {
		t.Run(player, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			// Players run one after the other and change data, so each has separate variables.
			v := maps.Clone(given(player))
			v["player"] = player
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			// A file, not an argument: the variables contain keys, and arguments are visible to other
			// users.
			path := filepath.Join(dir, player+".json")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(command[1:], filepath.Join(data, scenario), path)
			c := exec.CommandContext(t.Context(), command[0], args...)
			c.Dir = Folder(t) // within the module, for go run
			// Python would write its cache into the work tree.
			c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NODE_NO_WARNINGS=1")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", scenario, err, out)
			}
		})
	}
	play("go", "go", "run", "./testdata/play")
	play("typescript", "node", filepath.Join(data, "play.mjs"))
	play("python", Python(), filepath.Join(data, "play.py"))
}

// Python returns the Python that has the package cryptography, which messages of scheme v1a need.
func Python() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import cryptography").Run() == nil {
			return name
		}
	}
	return "python3"
}
