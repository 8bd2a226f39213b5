package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLicencesOf checks that licences are recognized by their text, whatever its
// layout.
func TestLicencesOf(t *testing.T) {
	own, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const mit = "// MIT License\n//\n// Permission is hereby granted, free of charge, to any\n// person obtaining a " +
		"copy of"
	for _, tt := range []struct{ text, names, refused string }{
		{string(own), "Apache-2.0", ""},
		{mit, "MIT", ""},
		{"Redistribution and use in source and binary forms, with or without\n...to endorse or promote products " +
			"derived from", "BSD-3-Clause", ""},
		{"Redistribution and use in source and binary forms, with or without", "BSD-2-Clause", ""},
		{"Mozilla Public License, version 2.0\n\n1. Definitions ... the GNU General Public License", "MPL-2.0", ""},
		{"                    GNU GENERAL PUBLIC LICENSE\n                       Version 3", "", "GPL"},
		{"GNU AFFERO GENERAL PUBLIC LICENSE", "", "AGPL"},
		{mit + "\n\nBusiness Source License 1.1", "MIT", "BUSL"},
		{"All rights reserved.", "", ""},
	} {
		if names, refused := licencesOf([]byte(tt.text)); strings.Join(names, " ") != tt.names ||
			refused != tt.refused {
			t.Errorf("%.60q: got %q, refused for %q; want %q, %q", tt.text, names, refused, tt.names, tt.refused)
		}
	}
}

// TestModuleWithoutLicence checks that the error names a module with a missing or
// forbidden licence.
func TestModuleWithoutLicence(t *testing.T) {
	for text, want := range map[string]string{"": "no licence", "All rights reserved.": "no licence",
		"GNU GENERAL PUBLIC LICENSE": "GPL"} {
		dir := t.TempDir()
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m := module{Path: "example.com/x", Version: "v1.0.0", Dir: dir}
		if err := m.read(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "example.com/x") {
			t.Errorf("licence %q: got %v, want a complaint with %q", text, err, want)
		}
	}
}

// TestClients: a release has the clients of the API, each time with the same bytes.
func TestClients(t *testing.T) {
	var before [][]byte
	for range 2 {
		out := t.TempDir()
		names, err := clients(out)
		if err != nil || len(names) != 2 {
			t.Fatalf("clients: %v, %v", names, err)
		}
		for i, name := range names {
			b, err := os.ReadFile(filepath.Join(out, name))
			if err != nil || len(b) == 0 || len(before) == len(names) && string(before[i]) != string(b) {
				t.Errorf("%s: %d bytes, or others than before: %v", name, len(b), err)
			}
			if len(before) < len(names) {
				before = append(before, b)
			}
		}
	}
}
