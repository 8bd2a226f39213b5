package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin"
)

type adminCmd struct {
	Create adminCreateCmd `cmd:"" help:"Create an administrator, or set a new password, in the database."`
}

type adminCreateCmd struct {
	dataSettings `embed:""`
	User         string `arg:"" help:"User name."`
	Role         string `default:"admin" enum:"admin,viewer" help:"admin: everything; viewer: see all except secrets."`
}

// Run reads a password from the terminal or from standard input and sets it.
func (c *adminCreateCmd) Run(ctx context.Context, s *command.Streams) error {
	password, err := readPassword(s)
	if err != nil {
		return err
	}
	return c.withService(ctx, s, func(ctx context.Context, svc *origin.Service) error {
		if err := svc.Access.Admins.Put(ctx, c.User, password, fieldmark.Role(c.Role)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.Out, "%s may sign in at /admin\n", c.User)
		return err
	})
}

// readPassword prompts for a password without echo on a terminal. Otherwise it reads one
// line.
func readPassword(s *command.Streams) (string, error) {
	if f, ok := s.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(s.Err, "Password (12 characters or more): ")
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.Err)
		return string(b), err
	}
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
