package main

import (
	"context"
	"errors"
	"os/user"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
)

// withService opens the database for one operation, which the audit log attributes to the
// user of the operating system. An origin may be running on the same database.
func (d *dataSettings) withService(ctx context.Context, s *command.Streams,
	do func(context.Context, *origin.Service) error) (err error) {
	secret, err := d.appSecret()
	if err != nil {
		return err
	}
	cfg, err := d.storeConfig()
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	svc, err := origin.New(origin.Config{Store: st, Secret: secret, Log: s.Log})
	if err != nil {
		return err
	}
	if err := svc.Prepare(ctx); err != nil {
		return err
	}
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return do(auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorCommand, Name: name}), svc)
}
