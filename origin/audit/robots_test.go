package audit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// TestGoogleRobots runs the robots.txt parser on the cases that Google publishes with its
// parser (google/robotstxt robots_test.cc, Apache-2.0, as testdata/google-robots.jsonl).
func TestGoogleRobots(t *testing.T) {
	file, err := os.ReadFile("testdata/google-robots.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	expectations := 0
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		var group struct {
			Group, Robots string
			Cases         []struct {
				Agent, URL string
				Allowed    bool
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &group); err != nil {
			t.Fatal(err)
		}
		t.Run(group.Group, func(t *testing.T) {
			for _, c := range group.Cases {
				expectations++
				if got, err := audit.JudgeRobots(group.Robots, c.Agent, c.URL); got != c.Allowed || err != nil {
					t.Errorf("%s may fetch %q: %v, %v; want %v under\n%s", c.Agent, c.URL, got, err, c.Allowed,
						group.Robots)
				}
			}
		})
	}
	if expectations != 142 {
		t.Errorf("%d expectations, want 142", expectations)
	}
}

// Parsers that match names by prefix choose the wrong group for these names.
func TestTokensMatchWhole(t *testing.T) {
	const robots = "User-agent: Googlebot\nDisallow: /\n\nUser-agent: Applebot\nDisallow: /\n\nUser-agent: " +
		"GPTBot/1.0\nDisallow: /\n"
	for token, want := range map[string]bool{
		"Googlebot": false, "Google-Extended": true, "Applebot": false, "Applebot-Extended": true, "GPTBot": false,
		"ClaudeBot": true,
	} {
		if got, err := audit.JudgeRobots(robots, token, "https://example.com/a"); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", token, got, err, want)
		}
	}
}

// TestNeverAnotherCrawler: no other crawler uses the name in audit.UserAgent. The test sites
// check that every request of every test sends audit.UserAgent.
func TestNeverAnotherCrawler(t *testing.T) {
	for _, c := range audit.Crawlers() {
		if strings.Contains(strings.ToLower(audit.UserAgent), strings.ToLower(c)) {
			t.Errorf("%q claims to be %s", audit.UserAgent, c)
		}
	}
}
