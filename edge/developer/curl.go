package developer

import (
	"net/http"
	"strings"
)

// curl returns a command that sends the request of the example. {base} stands where the address
// of the site belongs. Every value is within single quotes, except the key, which the shell
// inserts.
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
			parts = append(parts, "--data-binary @FILE")
		}
	}
	return strings.Join(parts, " \\\n  ")
}

func orName(p Parameter) string {
	if p.Example != "" {
		return p.Example
	}
	return strings.ToUpper(p.Name)
}

// quote quotes a word for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
