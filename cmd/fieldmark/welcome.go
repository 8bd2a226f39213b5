package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// welcome says where everything is and what to paste next. Secrets are shown
// on the first start only; after that they are read from demo.json.
func welcome(w io.Writer, f demoFacts, first bool, data string) {
	program, where := os.Args[0], whereFlag(data)
	fmt.Fprintf(w, "\nFieldmark is running.\n\n")
	fmt.Fprintf(w, "  site    %s/\n  API     %s/api/v1/leaderboard\n  admin   %s/admin\n  log     %s\n",
		f.BaseURL, f.BaseURL, f.BaseURL, filepath.Join(data, demoLog))
	if first {
		fmt.Fprintf(w, "\n  administrator   %s\n  password        %s\n  API key         %s\n", f.AdminUser, f.AdminPassword, f.APIKey)
		fmt.Fprintf(w, "\nShown this once; scripts find them in %s.\n", filepath.Join(data, demoFile))
	} else {
		fmt.Fprintf(w, "\nThe administrator and the keys of the first start are in %s.\n", filepath.Join(data, demoFile))
	}
	key, how := f.APIKey, ""
	if !first {
		key = "$KEY"
		how = fmt.Sprintf("  KEY=$(sed -n 's/.*\"apiKey\": \"\\(.*\\)\".*/\\1/p' %s)\n", filepath.Join(data, demoFile))
	}
	fmt.Fprintf(w, `
Paste into another terminal:
%[3]s  curl %[1]s/api/badge/alpenglow
  curl %[1]s/api/v1/score/alpenglow
  %[4]s webhook listen%[5]s
  curl %[1]s/api/public/v1/missions -H "Authorization: Bearer %[2]s" -H "Content-Type: application/json" -d '{"source":"demo","externalId":"1","title":"Replace the router"}'

Then complete that mission, and see the signed webhook arrive:
  %[4]s mission complete ID%[5]s

`, f.BaseURL, key, how, program, where)
}

// whereFlag is what a command must be told to find a demo that is not where
// commands look by themselves.
func whereFlag(data string) string {
	if usual, err := filepath.Abs("var"); err == nil && usual == data {
		return ""
	}
	return " --data " + data
}
