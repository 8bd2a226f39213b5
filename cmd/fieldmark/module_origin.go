package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// builtInModules returns the modules that come with the program, for an origin.
func builtInModules() (all []module.BuiltIn, err error) {
	for _, bytes := range geo.Modules() {
		ref, err := wasm.Ref(bytes)
		if err != nil {
			return nil, fmt.Errorf("built-in module: %w", err)
		}
		all = append(all, module.BuiltIn{Ref: ref, Bytes: bytes})
	}
	return all, nil
}

// builtInDigests returns their digests, for an edge: it runs them without a signature.
func builtInDigests() (all []fieldmark.Digest) {
	for _, bytes := range geo.Modules() {
		all = append(all, fieldmark.DigestOf(sha256.Sum256(bytes)))
	}
	return all
}

// moduleChecker returns how an origin checks and compares modules. A module is checked in a
// child process, and compared in this process after it has passed.
func moduleChecker() module.Checker {
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
				check.Ref = fieldmark.ModuleRef{Name: report.Manifest.Name, Version: report.Manifest.Version,
					Digest: report.Digest}
			}
			return check, nil
		},
		Compare: func(ctx context.Context, from, to []byte,
			each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			return wasm.Compare(ctx, from, to, time.Now(), each)
		},
		With: func(ctx context.Context, modules [][]byte, fn func(visibility.Scorer) error) error {
			return wasm.With(ctx, modules, func(score wasm.ScoreFunc) error { return fn(visibility.Scorer(score)) })
		},
	}
}

// moduleSettings name the keys of trusted modules, on edges and origins.
type moduleSettings struct {
	ModuleKeys []string `name:"module-keys" env:"FIELDMARK_MODULE_KEYS" placeholder:"KEY" help:"Public keys as fieldmark module keygen prints them. Nodes with this setting accept only modules that are signed with one of them. If unset, modules need no signature."`
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
