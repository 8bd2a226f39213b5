package web_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	postForms = regexp.MustCompile(`(?s)<form[^>]*method="post".*?</form>`)
	controls  = regexp.MustCompile(`(?s)<(input|select|textarea)\b((?:\{\{.*?\}\}|[^>{])*)>`)
	hintOf    = regexp.MustCompile(`\.Describe ("[^"]*"|\([^)]*\))`)
	chosen    = regexp.MustCompile(`type="(checkbox|radio|file)"`)
	idOf      = regexp.MustCompile(`\bid="([^"]*(?:\{\{.*?\}\}[^"]*)*)"`)
)

// TestFormMarkup: every input of every form of the origin's pages has a label, a bound for its text, the
// value that was entered into it, unless it is a secret, and the attributes and the place of its error.
// Rejections of the form on the board are shown on the mission's page.
func TestFormMarkup(t *testing.T) {
	files, err := filepath.Glob("../*/templates/*.html")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, name := range files {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range postForms.FindAllString(string(page), -1) {
			for _, c := range controls.FindAllStringSubmatch(form, -1) {
				checkControl(t, name, form, c[0], c[1], c[2])
			}
		}
	}
}

func checkControl(t *testing.T, name, form, tag, element, attributes string) {
	t.Helper()
	has := func(text string) bool { return strings.Contains(attributes, text) }
	if has(`type="hidden"`) {
		return
	}
	secret := has(`type="password"`) || has(`autocomplete="one-time-code"`) || has(`name="pin"`)
	if element == "input" && !secret && !chosen.MatchString(attributes) && !has(`value="{{`) {
		t.Errorf("%s: %s loses what was entered when its form is rejected: it has no value", name, tag)
	}
	checkbox := has(`type="checkbox"`)
	bounded := element == "select" || checkbox || has("maxlength=") || has(`type="datetime-local"`) ||
		has(`type="file"`) || has(`type="number"`) || has(`type="date"`) || has(`type="radio"`)
	if !bounded {
		t.Errorf("%s: %s has no maxlength", name, tag)
	}
	if id := idOf.FindStringSubmatch(attributes); id != nil && !checkbox {
		if !strings.Contains(form, `<label for="`+id[1]+`"`) {
			t.Errorf("%s: %s has no label", name, tag)
		}
	}
	if checkbox && !has("required") || strings.HasSuffix(name, "/board.html") {
		return
	}
	hint := hintOf.FindStringSubmatch(attributes)
	if hint == nil {
		t.Errorf("%s: %s is not tied to its error: use Describe", name, tag)
		return
	}
	if !strings.Contains(form, ".Fault "+hint[1]) {
		t.Errorf("%s: the error of %s has no place: use Fault", name, tag)
	}
}

var (
	tables = regexp.MustCompile(`(?s)<table.*?</table>`)
	heads  = regexp.MustCompile(`<th scope="col"([^>]*)>(?:<a[^>]*>)?([^<{]*)`)
	cells  = regexp.MustCompile(`<td data-label="([^"{]+)"([^>]*)>`)
)

// TestColumns: the label of a cell on a phone is the head of its column, and a column of numbers is aligned
// to the right with its head.
func TestColumns(t *testing.T) {
	files, err := filepath.Glob("../*/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables.FindAllString(string(page), -1) {
			numbers := map[string]bool{}
			for _, m := range heads.FindAllStringSubmatch(table, -1) {
				numbers[m[2]] = strings.Contains(m[1], `class="number"`)
			}
			for _, m := range cells.FindAllStringSubmatch(table, -1) {
				checked++
				head, known := numbers[m[1]]
				if cell := strings.Contains(m[2], `class="number"`); !known || head != cell {
					t.Errorf("%s: column %q: head known %v and of numbers %v, cell of numbers %v", name, m[1], known,
						head, cell)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("%d cells were checked, want all", checked)
	}
}
