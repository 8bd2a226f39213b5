package operate

import (
	"cmp"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/origin/client"
)

// connector is a group of flags that names a server and a key for it.
type connector interface {
	connect() (*client.Client, error)
}

// do connects and makes one call, whose result is not printed or is written by the call itself.
func do(c connector, call func(*client.Client) error) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	return call(api)
}

// run connects, makes one call and prints its result.
func run[T any](c connector, call func(*client.Client) (T, error), print func(T) error) error {
	return do(c, func(api *client.Client) error {
		result, err := call(api)
		if err != nil {
			return err
		}
		return print(result)
	})
}

// runJSON is run for a result that is printed as JSON.
func runJSON[T any](c connector, s *command.Streams, call func(*client.Client) (T, error)) error {
	return run(c, call, func(result T) error { return s.PrintJSON(result) })
}

// eachOfPages prints a line for each row of a list that the API returns in pages. The brand of a filter is checked
// before the first request.
func eachOfPages[T any](c connector, s *command.Streams, brand string,
	list func(api *client.Client, brand fieldmark.Slug, cursor string) (fieldmark.List[T], error),
	line func(*T) string) error {
	if brand != "" && !fieldmark.ValidSlug(brand) {
		return fmt.Errorf("--brand: %q is not a slug", brand)
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	for cursor := ""; ; {
		page, err := list(api, fieldmark.Slug(brand), cursor)
		if err != nil {
			return err
		}
		for i := range page.Data {
			fmt.Fprintln(s.Out, line(&page.Data[i]))
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
}

// printf prints to the command's output.
func printf(s *command.Streams, format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format, args...)
	return err
}

// adminFlags name a server and an administrator's key for it. Without them a command
// uses the demo in the data folder.
type adminFlags struct {
	URL          string `env:"FIELDMARK_URL" placeholder:"URL" help:"Server address; default: the demo's in --data."`
	AdminKey     string `env:"FIELDMARK_ADMIN_KEY" placeholder:"KEY" help:"API key with admin:*; default: the demo's."`
	AdminKeyFile string `env:"FIELDMARK_ADMIN_KEY_FILE" type:"path" placeholder:"FILE" help:"File that holds the key."`
	Data         string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Data folder of a demo."`
}

func (f *adminFlags) connect() (*client.Client, error) {
	c, _, err := f.connectURL()
	return c, err
}

// connectURL also returns the address of the server.
func (f *adminFlags) connectURL() (*client.Client, string, error) {
	key, err := command.ReadSecret(f.AdminKey, f.AdminKeyFile)
	if err != nil {
		return nil, "", err
	}
	return dial(f.URL, key, "FIELDMARK_ADMIN_KEY", f.Data, func(a *demo.Access) string { return a.AdminKey })
}

// accountFlags name a server and the key of an account. Without them a command uses
// the demo in the data folder.
type accountFlags struct {
	URL        string `env:"FIELDMARK_URL" placeholder:"URL" help:"Server address; default: the demo's in --data."`
	APIKey     string `env:"FIELDMARK_API_KEY" placeholder:"KEY" help:"API key for missions; default: the demo's."`
	APIKeyFile string `env:"FIELDMARK_API_KEY_FILE" type:"path" placeholder:"FILE" help:"File that holds the key."`
	Data       string `env:"FIELDMARK_DATA" type:"path" default:"./var" help:"Data folder of a demo."`
}

func (f *accountFlags) connect() (*client.Client, error) {
	key, err := command.ReadSecret(f.APIKey, f.APIKeyFile)
	if err != nil {
		return nil, err
	}
	c, _, err := dial(f.URL, key, "FIELDMARK_API_KEY", f.Data, func(a *demo.Access) string { return a.APIKey })
	return c, err
}

// dial returns a client and the address it uses. What is not given comes from the demo
// in the data folder; setting is the environment variable of the key. The demo's key is
// only sent to the demo.
func dial(url, key, setting, data string, demoKey func(*demo.Access) string) (*client.Client, string, error) {
	if url == "" || key == "" {
		access, err := demo.ReadAccess(data)
		switch {
		case err != nil:
			return nil, "", err
		case access == nil:
			return nil, "", fmt.Errorf("no server to call: set FIELDMARK_URL and %s, or start a demo with "+
				"`fieldmark serve --demo` (no %s in %s)",
				setting, demo.AccessFile, data)
		case key == "" && url != "" && url != access.BaseURL:
			return nil, "", fmt.Errorf("%s is not set, and the key in %s is not for %s", setting, demo.AccessFile, url)
		}
		url, key = cmp.Or(url, access.BaseURL), cmp.Or(key, demoKey(access))
	}
	c, err := client.New(client.Config{BaseURL: url, Key: key})
	return c, url, err
}
