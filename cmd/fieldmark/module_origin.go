package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/wasm"
)

// moduleDesk is how an origin judges modules: checked in a process of their own,
// compared in this one once they have passed.
func moduleDesk() module.Checker {
	return module.Checker{
		Check: func(ctx context.Context, module []byte) (check module.CheckResult, err error) {
			report, err := author.CheckIsolated(ctx, module)
			if err != nil {
				return check, err
			}
			if check.Report, err = json.Marshal(report); err != nil {
				return check, err
			}
			if check.Complaints = report.Problems; report.Manifest != nil {
				check.Ref = fieldmark.ModuleRef{Name: report.Manifest.Name, Version: report.Manifest.Version, Digest: report.Digest}
			}
			return check, nil
		},
		Compare: func(ctx context.Context, from, to []byte, each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			return wasm.Compare(ctx, from, to, time.Now(), each)
		},
	}
}

// moduleSettings are whose modules may score, on edges and at the origin.
type moduleSettings struct {
	ModuleKeys []string `name:"module-keys" env:"FIELDMARK_MODULE_KEYS" placeholder:"KEY" help:"Public keys, as fieldmark module keygen prints them: only modules signed by one of them are taken, here and by edges that have the setting too. Unset, modules need no signature."`
}

func (m *moduleSettings) keys() (keys []fieldmark.ModuleKey, err error) {
	for _, text := range m.ModuleKeys {
		key, err := fieldmark.ParseModuleKey(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--module-keys: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
