# Fieldmark. `make` alone lists what there is.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)
MODULE  := github.com/fieldmark/fieldmark
FUZZ    ?= 10s

# SQLite is C translated to Go: its memory accesses cost three quarters of the
# database tests under the race detector. It runs uninstrumented here; races in
# our own code are still found. `make test-race-all` instruments everything.
# So does the compiler of modules, which every edge runs and which exceeds its limit of five
# seconds under the detector on a busy machine. A package that shares generic code with ours
# must not be added: the linker keeps one copy, and an uninstrumented sync.Map looks like a
# race. Hence not all of wazero; a race within slices.SortFunc of pointers may be missed.
# vet and staticcheck use the same flags, so one compilation serves all three.
# Codecs, minifiers, parsers and arithmetic of keys compute with what one caller passes to them, start no goroutine and
# share no generic code: without the detector a picture takes less than half the processor. Those of POOLED have pools,
# maps or what is made once. They are not inlined, so that they call package sync, which tells the detector: of the
# tests of edge, JSON alone takes a tenth of the processor with it. Values that reflect reads or sets for JSON are
# watched, the text is not.
# No package has DWARF, which only debuggers read and the linker drops from test programs: the compiler takes
# 13 to 28 percent less processor (edge 3.5 s in place of 4.9). The clients of REMOTE wait for others
# and are large, so they are not inlined: pgtype takes another fifth less. The last pattern that matches a
# package has all its flags, hence the repetition.
WAZEVO := github.com/tetratelabs/wazero/internal/engine/wazevo
CODECS := compress/... image/... hash/crc32 hash/adler32 golang.org/x/image/... github.com/tdewolff/... \
	github.com/klauspost/compress/flate github.com/klauspost/compress/gzip golang.org/x/net/html/... \
	crypto/internal/fips140/edwards25519/field crypto/internal/fips140/bigmod
JSONTEXT := github.com/go-json-experiment/json
POOLED := encoding/json $(JSONTEXT)/jsontext $(JSONTEXT)/internal/jsonwire regexp/... github.com/yuin/goldmark/... \
	github.com/molecule-man/go-brrr/... github.com/pressly/goose/v3/internal/sqlparser \
	crypto/internal/fips140/edwards25519 crypto/internal/fips140/mlkem
UNRACED := modernc.org/... $(WAZEVO)/ssa $(WAZEVO)/frontend $(WAZEVO)/backend/... $(CODECS)
REMOTE := github.com/redis/... github.com/jackc/pgx/v5/pgtype github.com/minio/... github.com/chromedp/... \
	github.com/miekg/... google.golang.org/protobuf/...
RACE := -race -trimpath -gcflags=all=-dwarf=false $(REMOTE:%='-gcflags=%=-dwarf=false -l') \
	$(UNRACED:%='-gcflags=%=-dwarf=false -race=false') $(POOLED:%='-gcflags=%=-dwarf=false -race=false -l')

# These compile and run modules, parse texts, draw badges or write pages one after the
# other: neither they nor their tests start a goroutine, so there is no race to find, and the
# detector makes them several times slower. The compiler of modules even runs into its own
# limit. What programs do with these packages at once is tested, with the detector, where
# they do it: in edge, origin/api and cmd/fieldmark. They are compiled with the flags of `go tool`,
# which knows no -trimpath, and so is the program that tests of cmd/fieldmark start: on a new machine
# the standard library is then compiled twice, with the detector and without, and not a third time.
# Only the standard library must have the flags of `go tool` then.
NODWARF := -gcflags=github.com/...=-dwarf=false -gcflags=modernc.org/...=-dwarf=false
SERIAL := ./origin/visibility/estimate ./wasm/card ./wasm/examples ./wasm/geo ./wasm/abi ./wasm/scoring ./edge/badge \
	./edge/site ./origin/llms ./origin/injection ./origin/audit/prose ./origin/audit/style ./origin/ics ./origin/sla

# The packages that take longest, which start first: the last minutes would be one of them
# on one processor.
LONGEST := $(addprefix $(MODULE)/,cmd/fieldmark edge origin/api origin origin/cdn origin/logstream origin/acme)

# Tests wait for processes, browsers and databases half of their time: the four longest packages together use 1.4 of
# two processors. So three packages a processor are tested at once. `make check` vets.
TEST := test -vet=off -p $(shell expr 3 '*' $$(nproc 2>/dev/null || echo 2)) -timeout 60m

# Compilers, staticcheck and tests collect garbage at four times what is in use in place of twice: that
# saves a sixth of the processor time of compilation and of staticcheck, which then takes 1.7 GB for
# origin/store in place of 1.2, and a tenth of that of tests, because under the detector a collection
# clears the shadow of what it frees. Tests of memory collect before they measure.
check test prose: export GOGC = 300
TEST_ENV := GORACE=atexit_sleep_ms=0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and run a seeded Fieldmark: http://127.0.0.1:8080
	bin/fieldmark serve --demo

.PHONY: build
build: ## build bin/fieldmark
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/fieldmark ./cmd/fieldmark

.PHONY: test
test: ## every test, with the race detector; installs what it needs where it may
	@.ci/tools
	$(TEST_ENV) $(GO) $(TEST) $(RACE) $(LONGEST) \
		$(filter-out $(LONGEST) $(SERIAL:./%=$(MODULE)/%),$(shell $(GO) list ./...))
	$(GO) $(TEST) $(NODWARF) $(SERIAL)

.PHONY: test-race-all
test-race-all: ## every test, SQLite instrumented for the race detector too; weekly
	@.ci/tools
	GORACE=atexit_sleep_ms=0 $(GO) test -race -trimpath -timeout 30m ./...

.PHONY: check
check: ## gofmt, modules, scripts, spelling, vet, staticcheck, imports, shape, prose, licences, known vulnerabilities
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) mod verify
	.ci/lint-text
	$(GO) vet $(RACE) ./...
	GOFLAGS="$(RACE)" $(GO) tool staticcheck ./...
	$(GO) test $(RACE) -run 'TestImports|TestRoot|TestShape' .
	RACE_FLAGS="$(RACE)" .ci/lint-prose
	$(GO) run ./deploy/release -licences
	.ci/vulnerabilities

.PHONY: prose
prose: ## terms and idiom of pages, comments and help texts
	@RACE_FLAGS="$(RACE)" .ci/lint-prose

.PHONY: deadcode
deadcode: ## functions that nothing reaches; 40 s of processor, so before a release and not in check
	.ci/deadcode

.PHONY: bench
bench: ## every benchmark, as ratios between alternatives of one run
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: extism
extism: ## the built-in scorer as an Extism plugin, beside itself as a module
	cd wasm/testdata/extism && $(GO) test -run '^$$' -bench . -benchtime 1x -count 3 .

.PHONY: chaos
chaos: ## chaos tests: fleets, their log, a full disk, twice 200 kills, 500 acts offline, 100 endpoints, failing clients
	$(GO) test ./cmd/fieldmark -run 'TestChaos$$|TestDiskFull$$' -count 1 -v -timeout 30m -args -chaos
	$(GO) test ./cmd/fieldmark -run 'TestLogChaos$$' -count 3 -v -timeout 40m -args -chaos
	$(GO) test ./cmd/fieldmark -run 'TestKill$$|TestFleet$$|TestSpoolProcesses$$|TestTechnician$$' -count 1 -v \
		-timeout 30m -args -chaos
	$(GO) test ./origin -run 'TestManyEndpoints$$' -count 1 -v -timeout 30m -args -chaos
	$(GO) test ./sdk -run 'TestHostileServer$$' -count 1 -v -timeout 30m -args -chaos
	$(GO) test ./origin/cdn -run 'TestVarnish$$|TestNginx$$|TestTrafficServer$$' -count 1 -v -timeout 30m -args -changes 10000

.PHONY: simulate
simulate: ## hit ratios of ten million keys; 10,000 schedules of claims; 1,000,000 standings; coverage; 1,000 budgets
	$(GO) test ./cache -run 'TestSimulate$$' -count 1 -v -timeout 30m -args -simulate
	$(GO) test ./origin/claim -run 'TestRandomSchedules$$' -count 1 -v -timeout 90m -args -schedules 10000
	$(GO) test ./origin/standing -run 'TestActivation$$' -count 1 -v -timeout 90m -args -brands 1000000
	$(GO) test ./origin/visibility/estimate -count 1 -v -timeout 30m -args -studies 2000
	$(GO) test ./origin/visibility/sampler -run 'TestBudget$$' -count 1 -timeout 90m -args -prices 1000

# A million brands take 20 minutes and 25 GB of memory with 20 edges; two edges need 5 GB.
BRANDS    ?= 100000
EDGES     ?= 20
FOLLOWERS ?= 1000

.PHONY: fleet-sim
fleet-sim: ## costs of a fleet: BRANDS, EDGES that start at once, FOLLOWERS of the log
	$(GO) test ./cmd/fieldmark -run 'TestFleetSimulation$$' -count 1 -v -timeout 90m -args -brands $(BRANDS) \
		-edges $(EDGES) -followers $(FOLLOWERS) -window 10s

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ (default 10s) each
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) $$pkg || exit 1; \
	  done; \
	done

.PHONY: conformance
conformance: ## the public suite of HTTP cache tests against an edge; needs npm
	.ci/conformance

.PHONY: wasm
wasm: ## compile the built-in module and the examples whose compiler is there; 100,000 facts each
	$(GO) test ./wasm/geo -run TestCommittedModules -update
	$(GO) test ./wasm/examples -count 1 -run TestExamples -v -facts 100000

.PHONY: gallery
gallery: ## every badge on one page: bin/gallery.html
	@mkdir -p bin
	$(GO) test ./edge/badge -count 1 -run TestGallery -gallery $(CURDIR)/bin

.PHONY: deploy-check
deploy-check: ## have the chart, the compose file and the rest judged by their own tools
	cd deploy/check && $(GO) run .
	@.ci/deploy-check accept

.PHONY: lighthouse
lighthouse: ## Lighthouse's figures for the public pages, at least 98 each
	@.ci/lighthouse

.PHONY: promises
promises: ## add what is new to testdata/released, which later changes are compared with
	$(GO) test . ./cmd/fieldmark -count 1 -run 'TestReleased$$' -args -release

.PHONY: release
release: ## archives for every platform, with checksums and bills of materials: dist/
	$(GO) run ./deploy/release -version $(VERSION) -out dist
