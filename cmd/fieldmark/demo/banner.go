package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// printBanner prints the addresses of a demo and commands to try. It shows credentials on
// the first start only; demo.json keeps them.
func printBanner(w io.Writer, a *Access, first bool, data string) {
	program, flag, file := os.Args[0], dataFlag(data), filepath.Join(data, AccessFile)
	fmt.Fprintf(w, "\nFieldmark is running.\n\n")
	fmt.Fprintf(w, "  site    %s/\n  API     %s/api/v1/leaderboard\n  admin   %s/admin\n  log     %s\n",
		a.BaseURL, a.BaseURL, a.BaseURL, filepath.Join(data, LogFile))
	key, readKey := a.APIKey, ""
	if first {
		fmt.Fprintf(w, "\n  administrator   %s\n  password        %s\n  API key         %s\n", a.AdminUser,
			a.AdminPassword, a.APIKey)
		fmt.Fprintf(w, "\nThese are shown only once. Scripts can read them from %s.\n", file)
	} else {
		key = "$KEY"
		readKey = fmt.Sprintf("  KEY=$(sed -n 's/.*\"apiKey\": \"\\(.*\\)\".*/\\1/p' %s)\n", file)
		fmt.Fprintf(w, "\nThe credentials created on the first start are in %s.\n", file)
	}
	fmt.Fprintf(w, `
Paste into another terminal:
%[3]s  curl %[1]s/api/badge/alpenglow
  curl %[1]s/api/v1/score/alpenglow
  %[4]s webhook listen%[5]s
  curl %[1]s/api/public/v1/missions -H "Authorization: Bearer %[2]s" -H "Content-Type: application/json" \
    -d '{"source":"demo","externalId":"1","title":"Replace the router"}'

Then complete the mission and watch the signed webhook arrive:
  %[4]s mission complete ID%[5]s

`, a.BaseURL, key, readKey, program, flag)
}

// dataFlag returns the flag that makes a command find a demo outside the default data
// folder.
func dataFlag(data string) string {
	if usual, err := filepath.Abs("var"); err == nil && usual == data {
		return ""
	}
	return " --data " + data
}
