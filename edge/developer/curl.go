package developer

import (
	"net/http"
	"strings"
)

// curl returns a command that sends the request of the example. {base} stands where the address
// of the site belongs. Every value is within single quotes, except the key, which the shell
// inserts.
// The command can be pasted as it is: only the key comes from the environment, so it is not in
// the history of the shell.
func curl(o *Operation) string {
	path := o.Path
	var query []string
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", orName(p))
		case p.In == "query" && p.Required:
			query = append(query, p.Name+"="+orName(p))
		}
	}
	if query != nil {
		path += "?" + strings.Join(query, "&")
	}
	parts := []string{"curl " + quote("{base}"+path)}
	// curl sends POST by itself when there is data.
	if o.Method != http.MethodGet && !(o.Method == http.MethodPost && o.Body != nil) {
		parts[0] = "curl -X " + o.Method + " " + quote("{base}"+path)
	}
	if o.Scope != "" && !o.KeyOptional {
		parts = append(parts, `-H "Authorization: Bearer $FIELDMARK_API_KEY"`)
	}
	if o.Body != nil {
		parts = append(parts, "-H "+quote("Content-Type: "+o.Body.Types[0]))
		if o.Body.Example != "" {
			parts = append(parts, "-d "+quote(o.Body.Example))
		} else {
			// A body that is not JSON, such as a module, comes from a file.
			parts = append(parts, "--data-binary @FILE")
		}
	}
	return strings.Join(parts, " \\\n  ")
}

// orName returns the example of a parameter, or its name in capitals for the reader to replace.
func orName(p Parameter) string {
	if p.Example != "" {
		return p.Example
	}
	return strings.ToUpper(p.Name)
}

// quote quotes a word for a POSIX shell.
// Inside single quotes a shell changes nothing; a quotation mark ends them, is escaped, and
// starts them again.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
