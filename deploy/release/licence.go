package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a third-party module that is linked into a binary.
type module struct {
	Path, Version, Dir string
	Main               bool

	licences []string // by their SPDX names
	texts    []member // the notices to pass on with a binary
}

// phrases maps each licence to a phrase that occurs in no other licence.
var phrases = []struct{ name, phrase string }{
	{"MPL-2.0", "mozilla public license, version 2.0"}, // per file; they are linked unchanged
	{"Apache-2.0", "apache license version 2.0"},
	{"BSD-3-Clause", "endorse or promote products derived from"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

// forbidden lists the licences that restrict the use or sale of a binary under
// Apache-2.0. Modules under them must not be linked.
var forbidden = []struct{ name, phrase string }{
	{"AGPL", "gnu affero general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"GPL", "gnu general public license"},
	{"BUSL", "business source license"},
	{"SSPL", "server side public license"},
}

// blanks are collapsed before phrases are searched, because copies of a licence differ in line breaks, indentation
// and comment marks.
var blanks = regexp.MustCompile(`[\s/#*]+`)

// licencesOf returns the names of the licences in a text, and the name of one that
// forbids linking, if any.
func licencesOf(text []byte) (names []string, refused string) {
	plain := strings.ToLower(blanks.ReplaceAllString(string(text), " "))
	for _, p := range phrases {
		// The text of BSD-2-Clause is contained in BSD-3-Clause, so only the longer one counts.
		if strings.Contains(plain, p.phrase) && !(p.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")) {
			names = append(names, p.name)
		}
	}
	if slices.Contains(names, "MPL-2.0") { // the text of the MPL names the GPL licences
		return names, ""
	}
	for _, f := range forbidden {
		if strings.Contains(plain, f.phrase) {
			return names, f.name
		}
	}
	return names, ""
}

// licenceFile matches the names of files that hold conditions or credits.
// NOTICE files must be passed on (Apache-2.0, section 4d), and PATENTS of Go grants rights that belong to its licence.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|patents)`)

// linked lists the third-party modules of the program on a platform, each with its
// licences. It reports every module whose licence is missing or not allowed.
// The list differs by platform, because build constraints select files and with them imports.
func linked(goos, arch string) ([]module, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/fieldmark")
	// As the archives are built: with cgo, other packages would be selected.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list what is linked: %w", err)
	}
	byPath := map[string]module{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		// Packages of the standard library have no module; their licence is stated in materials.
		// Several packages of a module are listed; it counts once.
		if p.Module != nil && !p.Module.Main {
			byPath[p.Module.Path] = *p.Module
		}
	}
	var all []module
	// All modules are read before it fails: one run names every licence to decide on.
	var complaints []error
	for _, m := range byPath {
		if err := m.read(); err != nil {
			complaints = append(complaints, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, errors.Join(complaints...)
}

// read finds a module's licences in its folder.
// It reads only the top folder, which has the conditions of the module as a whole.
func (m *module) read() error {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Path, err)
	}
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, f.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		// Texts without a known licence are passed on too: a NOTICE has none.
		m.texts = append(m.texts, member{name: f.Name(), data: text})
		names, refused := licencesOf(text)
		if refused != "" {
			return fmt.Errorf("%s %s: %s is under %s, which may not be linked into this program", m.Path, m.Version,
				f.Name(), refused)
		}
		for _, name := range names {
			if !slices.Contains(m.licences, name) {
				m.licences = append(m.licences, name)
			}
		}
	}
	// An unknown text is an error, not a pass: without a licence, a binary must not be distributed.
	if len(m.licences) == 0 {
		return fmt.Errorf("%s %s: no licence that is known to be allowed was found in %s", m.Path, m.Version, m.Dir)
	}
	return nil
}

// credits returns the licence texts and notices that must accompany a binary.
// Most licences require their text with every copy, so each archive has all of them in one file.
func credits(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("Fieldmark contains the work of others, under the conditions below.\n")
	for _, m := range modules {
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n%[1]s\n\n%[5]s\n", strings.Repeat("=", 80), m.Path, m.Version, t.name,
				bytes.TrimSpace(t.data))
		}
	}
	return b.Bytes()
}

// checkLicences prints the licence of everything linked on any platform.
// It needs no build, so `make check` runs it for every platform.
func checkLicences(out io.Writer) error {
	// By the licences of a module, joined: a module may have files under several.
	seen := map[string]int{}
	listed := map[string]bool{}
	for _, p := range platforms {
		modules, err := linked(p.os, p.arch)
		if err != nil {
			return err
		}
		for _, m := range modules {
			if !listed[m.Path] {
				listed[m.Path] = true
				seen[strings.Join(m.licences, " and ")]++
			}
		}
	}
	var said []string
	for name, n := range seen {
		said = append(said, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(said)
	_, err := fmt.Fprintf(out, "licences: %d modules, all allowed: %s\n", len(listed), strings.Join(said, ", "))
	return err
}
