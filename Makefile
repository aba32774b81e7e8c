# Everything a fresh machine needs beyond Go, Node and npm is installed by `setup`, by `postgres` for
# the tests of shared state, and by `editors` for those in real editors; the other targets call them.
.DEFAULT_GOAL := build
.PHONY: measures build core e2e-core setup shells postgres editors demo demo-build demo-modules demo-std test test-packages test-beside vet e2e-vscode e2e-beside e2e-others laws unit portable wine race e2e soak schema module cross nvim-cmp check deadcode lint prose vulnerabilities bench compare fuzz mutate pictures releases codex-release release release-check release-verify release-try clean
SHELL := bash
.SHELLFLAGS := -o pipefail -c

NPM     := testdata/npm
PEERS   := cmd/bridge-bench/peers
E2E     := ./cmd/codex-bridge/e2e
NVIM    := .tools/nvim/nvim
VSCODE  := editors/vscode
CODE    := $(VSCODE)/e2e/node_modules/code-server/lib/vscode/node_modules/.package-lock.json
CODEX   := $(CURDIR)/$(NPM)/node_modules/.bin/codex
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   = $(shell git rev-parse HEAD 2>/dev/null)
DATE     = $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
BUILD    = codex-bridge.example/cmd/codex-bridge/internal/buildinfo
LDFLAGS  = -s -w -X $(BUILD).Version=$(VERSION) -X $(BUILD).Commit=$(COMMIT) -X $(BUILD).Date=$(DATE)
LINTER  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The other systems; no file of the program is for one architecture alone. .ci/long has all six.
TARGETS ?= darwin/arm64 windows/amd64

build: ## bin/codex-bridge
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/codex-bridge ./cmd/codex-bridge

# The real codex, and the real clients and servers, at the versions of the lock file.
setup: $(NPM)/node_modules/.package-lock.json
$(NPM)/node_modules/.package-lock.json: $(NPM)/package.json $(NPM)/package-lock.json
	npm ci --prefix $(NPM) --ignore-scripts --no-audit --no-fund
	@touch $@

# The shells that the grammar of rules is held against. Elsewhere than on Linux no test needs them.
shells:
ifeq ($(shell uname),Linux)
	sh testdata/shells.sh
endif
setup: shells

# The programs of a PostgreSQL, Debian's where there is none. No server is left running.
postgres:
	sh bridge/store/postgrestest/postgres.sh

# A Neovim for the tests of the plugin, in a folder of its own.
editors: $(NVIM)
$(NVIM): editors/nvim/tests/neovim.sh
	sh $< $(@D)

# An nvim-cmp at a commit that is known to work, for the test of its menu in .ci/long; prints its folder.
NVIM_CMP := .tools/nvim-cmp
nvim-cmp:
	@test -d $(NVIM_CMP) || git clone --quiet https://github.com/hrsh7th/nvim-cmp $(NVIM_CMP)
	@git -C $(NVIM_CMP) checkout --quiet a1d504892f2bc56c2e79b65c6faded2fd21f3eca
	@echo $(CURDIR)/$(NVIM_CMP)

# What builds the extension of VS Code, and what it is tried in: a VS Code, the Node that runs it, a browser.
ifeq ($(shell uname),Linux)
editors: $(VSCODE)/node_modules/.package-lock.json $(CODE)
endif
$(VSCODE)/node_modules/.package-lock.json: $(VSCODE)/package.json $(VSCODE)/package-lock.json
	npm ci --prefix $(VSCODE) --ignore-scripts --no-audit --no-fund
	@touch $@
$(CODE): $(VSCODE)/e2e/package.json $(VSCODE)/e2e/package-lock.json $(VSCODE)/e2e/chromium.sh
	sh $(VSCODE)/e2e/chromium.sh
	npm ci --prefix $(VSCODE)/e2e --ignore-scripts --no-audit --no-fund
	npm install --prefix $(VSCODE)/e2e/node_modules/code-server/lib/vscode --ignore-scripts --omit=dev --no-audit --no-fund
	@touch $@

# The first demo needs Codex, but not the other packages of the tests.
DEMO_NPM := $(if $(wildcard $(NPM)/node_modules/.package-lock.json),$(NPM),bin/demo/npm)
bin/demo/npm/node_modules/.package-lock.json: $(NPM)/package.json $(NPM)/package-lock.json
	mkdir -p bin/demo/npm && cp $^ bin/demo/npm
	npm ci --prefix bin/demo/npm --omit=dev --ignore-scripts --no-audit --no-fund
	@touch $@

demo: ## a conversation through the real codex, offline; ALL=1: with all scenes
	@echo "installing Codex and building codex-bridge: a minute or two on a fresh machine"
	@$(MAKE) -j3 --no-print-directory $(DEMO_NPM)/node_modules/.package-lock.json demo-build
	CODEX_BRIDGE_CODEX=$(CURDIR)/$(DEMO_NPM)/node_modules/.bin/codex bin/demo/codex-bridge demo $(if $(ALL),--all)

# Compiling is most of the first demo. Without optimisation and debugging data, and with garbage collection of
# the compiler only at a GiB, it takes about half the time; with one thread for each package (-c=1), a twelfth
# less processor time. The standard library needs no download.
DEMO_BUILD = GOGC=off GOMEMLIMIT=1GiB CGO_ENABLED=0 go build -trimpath -gcflags 'all=-N -l -dwarf=false -c=1'
demo-build: demo-modules demo-std
	$(DEMO_BUILD) -ldflags '$(LDFLAGS)' -o bin/demo/codex-bridge ./cmd/codex-bridge
demo-modules:
	@CGO_ENABLED=0 go list -deps ./cmd/codex-bridge > /dev/null
demo-std:
	@$(DEMO_BUILD) net/http database/sql encoding/gob encoding/xml expvar go/doc image/jpeg image/png log/slog

# The fast tests come first, beside the downloads of the editors. `.ci/run` and `make check` run go vet, so the
# tests need not. The scenes in VS Code often wait, so some tests run beside them, two at a time and with less
# priority; without that, scenes would fail by their limits of time.
test: setup postgres ## all tests, those against the real codex and in real editors too
	$(MAKE) -j2 --no-print-directory test-packages editors
	$(MAKE) -j2 --no-print-directory e2e-vscode test-beside
	$(MAKE) --no-print-directory e2e-others
	$(MAKE) --no-print-directory e2e-core

test-packages:
	$(call gotestsum,pkgname,$$(go list ./... | grep -vxF -e "$$(go list $(E2E))")) -timeout 18m
	go -C $(PEERS) test -vet=off ./...
test-beside: e2e-beside
	GOFLAGS="$$(go env GOFLAGS) -p=1" nice -n 5 $(MAKE) laws portable CHECKS=5000 SEED=1 PORTABLE_E2E=
e2e-vscode:
	$(E2E_TEST) -run '^TestVSCode$$'
e2e-beside:
	nice -n 5 $(E2E_TEST) -parallel 2 -run '$(BESIDE)' -skip '$(VARIANTS)|$(CONTROLS)'
e2e-others:
	$(E2E_TEST) -skip '^TestVSCode$$|$(BESIDE)|$(VARIANTS)|$(CONTROLS)'

# The program of the core alone, and the attack tests on it: core.txt names them. `make test` has a sample.
CORE_TESTS  = ^($(shell awk '/^Test/ { printf "%s%s", or, $$1; or = "|" }' $(E2E)/core.txt))$$
CORE_SAMPLE = ^(TestNoFormPassesDeniedMethod|TestProtocolErrorsAreLogged|TestThreadIDSpellings|TestMethodOverrides|TestThreadOpenedBeforeEnforcement|TestReloadAppliesToNextRequest|TestUnreadableCallIsLoggedAndShown)$$
core: setup ## bin/codex-bridge-core, the program of the core alone, and its tests
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/codex-bridge-core ./cmd/codex-bridge-core
	go test -vet=off ./cmd/codex-bridge-core ./cmd/internal/core ./cmd/internal/settings ./bridge/decisionlog
	go test -vet=off -run '^TestCore' ./cmd/codex-bridge
	CODEX_BRIDGE_E2E_CORE=1 go test -vet=off -count=1 -timeout 60m -run '$(CORE_TESTS)' -skip '$(CONTROLS)' $(E2E)
e2e-core:
	CODEX_BRIDGE_E2E_CORE=1 $(E2E_TEST) -run '$(CORE_SAMPLE)'

# Those that run beside VS Code. With a fourth of the other tests beside them, the scenes took two minutes more,
# and all tests together no less.
BESIDE = ^TestNeovim

# Up to three tests that fail are tried once more, alone, and the summary names them: a failure that does
# not come again is a defect too, but not one of the change at hand. The arguments: a format, packages.
gotestsum = go run gotest.tools/gotestsum@v1.13.0 --format $(1) --rerun-fails=1 --rerun-fails-max-failures=3 \
	--rerun-fails-run-root-test --packages "$(2)" -- -vet=off
E2E_TEST = $(call gotestsum,testname,$(E2E)) -timeout 25m

# These show what Codex alone does, with the same attacks and in the conversations that each release must
# pass. They change with the release of Codex, and with the attacks: `make e2e` has them. go test takes the
# first part that fits the beginning of a name, so the parts with slashes come last.
CONTROLS := (Control|WithoutBridge|^TestCanary)$$|/([Cc]ontrol|[Cc]odex_alone)$$|//([Cc]ontrol|[Cc]odex_alone)$$

# Of these, each tries more of the same as a test that stays. `make e2e` has them.
VARIANTS = ^($(shell awk '/^Test/ { printf "%s%s", or, $$1; or = "|" }' $(E2E)/variants.txt))$$

# The tag portable builds the code of other Unix systems on Linux, and loopback the hooks' port of Windows.
# PORTABLE_E2E=. tries all end-to-end tests; empty: none, as in `make test`.
PORTABLE_E2E ?= ^(TestTerminalInterfaceEnds|TestCodexDies|TestTurnsRunInOrder|TestHooksRelay|TestSessionsCrash|TestKill)$$
portable: setup ## the code that macOS and Windows have in place of that of Linux, on Linux
	go test -vet=off -tags portable ./rpc ./bridge/child ./bridge/codex ./relay/handlers ./relay/hook/...
	go test -vet=off -tags portable -run 'TestOpen|TestKilledWriter' ./bridge/store
	go test -vet=off -tags loopback ./relay/hook/...
ifneq ($(PORTABLE_E2E),)
	CODEX_BRIDGE_E2E_TAGS=portable go test -vet=off -count=1 -timeout 60m -skip '$(CONTROLS)' -run '$(PORTABLE_E2E)' $(E2E)
	CODEX_BRIDGE_E2E_TAGS=portable,loopback go test -vet=off -count=1 -run '^TestHooksRelay$$' $(E2E)
endif

wine: ## the program and packages for Windows, by Wine; on Debian, root gets one in .tools
	sh testdata/wine.sh .tools/wine

# Random conversations of all methods, against a model of what is allowed. The tests take the same ones at each
# run, so that one fails by the change at hand; without SEED (0) they are new ones.
CHECKS ?= 20000
SEED ?= 0
laws: ## the laws of the policy and of its layers, CHECKS times each
	go test -vet=off ./bridge/policy -run 'TestSequences|TestNothingExceeds|TestNothingIsLoosened|TestPermissionsAreNeverMore|TestAnswerLaws' -rapid.checks=$(CHECKS) -rapid.seed=$(SEED) -timeout 60m
	go test -vet=off ./bridge/config -run 'TestLayersAreNeverLooserThanAFile' -rapid.checks=$$(( $(CHECKS) / 10 )) -rapid.seed=$(SEED) -timeout 60m

unit: setup postgres ## the tests that need no codex
	go test $$(go list ./... | grep -v -e /e2e -e /bridge-schema)

# The packages that have goroutines: their tests look for those that are left, and a test sees to
# it that they do.
RACED = $$(grep -rlE 'goleak\.VerifyTestMain|bridgetest\.Main' --include='*_test.go' bridge cmd lifecycle relay rpc \
	| grep -v bridgetest/ | xargs -n1 dirname | sort -u | sed 's|^|./|')

# Under the race detector each process waits a second at its end, and the tests start hundreds.
race: setup postgres ## their tests with the race detector, and a conversation through a bridge that has it
	sh .ci/cc.sh
	GORACE=atexit_sleep_ms=0 go test -race -vet=off -timeout 18m $(RACED)
	CODEX_BRIDGE_E2E_RACE=1 go test -vet=off -count=1 -timeout 18m -run '^TestSoak$$' $(E2E)

e2e: setup postgres editors ## the tests against the real codex and in real editors
	go test -timeout 25m -count=1 $(E2E) ./cmd/bridge-schema

# Ten thousand turns at least, and DURATION at least: what a bridge costs that runs for days.
DURATION ?= 10m
TURNS    ?= 10000
soak: setup ## one conversation with everything on, for hours: DURATION=2h
	CODEX_BRIDGE_SOAK=$(DURATION) CODEX_BRIDGE_SOAK_TURNS=$(TURNS) go test -timeout 0 -count=1 -v -run '^TestSoak$$' ./cmd/codex-bridge/e2e

# Fails when codex has a name without a row in bridge/methods, or the other way round.
schema: setup ## the names of the codex at hand, and docs/reference/methods.md
	CODEX_BRIDGE_CODEX=$(CODEX) go run ./cmd/bridge-schema

releases: setup ## the last releases of codex on npm, alone and through the bridge; writes docs/internals/releases.md
	go run ./cmd/bridge-releases

# It changes data and documents only, and prints a summary of what a person judges; SUMMARY=FILE: also into that file.
codex-release: ## moves to the newest release of codex on npm, or to TO=x.y.z
	go run ./cmd/bridge-releases -move -release "$$TO" -summary "$$SUMMARY"

# The address of the repository, which is in every package. It follows the module path.
REPOSITORY ?= https://$(shell go list -m)
# The files with the secret keys: of minisign, OpenPGP (deb and rpm) and RSA (apk). The repository has none of them.
MINISIGN_KEY ?=
PACKAGE_KEY ?=
APK_KEY ?=
# TRIAL=1 accepts what release-check refuses.
TRIAL ?=
# Fewer systems: RELEASE_TARGETS="linux/amd64 darwin/arm64".
RELEASE  = -version '$(VERSION)' -repository '$(REPOSITORY)' $(if $(RELEASE_TARGETS),-targets '$(RELEASE_TARGETS)')
release: ## archives, packages, manifests, checksums and a signature in dist: MINISIGN_KEY=FILE; a trial: TRIAL=1 VERSION=1.2.3
	go run ./packaging $(RELEASE) $(if $(TRIAL),-trial) -key '$(MINISIGN_KEY)' -package-key '$(PACKAGE_KEY)' -apk-key '$(APK_KEY)'

release-check: ## names what a person has to set before the first release
	@go run ./packaging $(RELEASE) -check

release-verify: ## whether two builds of the commit in different folders have the same bytes
	packaging/verify.sh $(RELEASE)

release-try: ## makes a release, and installs it in each way from local files
	packaging/try.sh

# The module path stands in every import, so one command changes it; gofmt sorts the imports again.
module: ## another module path: MODULE=host/owner/codex-bridge
	@test -n "$(MODULE)" || { echo "usage: make module MODULE=host/owner/codex-bridge" >&2; exit 2; }
	@old=$$(go list -m) && go mod edit -module '$(MODULE)' && \
		git grep -lzF "$$old/" -- '*.go' .golangci.yml | xargs -0 sed -i "s#$${old//./\\.}/#$(MODULE)/#g" && \
		git grep -lzF '$(MODULE)/' -- '*.go' | xargs -0 gofmt -w && \
		sed -i "s#https://$${old//./\\.}#https://$(MODULE)#" $(VSCODE)/package.json

cross: ## other platforms compile: TARGETS="linux/arm64 …"
	@set -e; for t in $(TARGETS); do \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go build -o /dev/null ./cmd/codex-bridge; \
	done

.PHONY: site site-test clean-site
SITE := packaging/site
# Files that are no pages are links to REPOSITORY; SITE_BASE is the path of the site.
site: $(SITE)/node_modules/.package-lock.json ## the documentation as a site, in dist/site; fails at a dead link
	cd $(SITE) && SITE_REPOSITORY='$(REPOSITORY)' node_modules/.bin/vitepress build
	node $(SITE)/check.mjs dist/site
$(SITE)/node_modules/.package-lock.json: $(SITE)/package.json $(SITE)/package-lock.json
	npm ci --prefix $(SITE) --ignore-scripts --no-audit --no-fund
	@touch $@

site-test: site ## every page of the site in a browser, narrow and wide, light and dark
	sh $(VSCODE)/e2e/chromium.sh
	node $(SITE)/test/browser.mjs dist/site

# Choose from them by hand, for docs/images. Those of VS Code are in editors/vscode/shots after TestVSCode.
pictures: setup editors ## pictures of each screen in the tests with Neovim, in .tools/pictures
	mkdir -p .tools/pictures
	CODEX_BRIDGE_PICTURES=$(CURDIR)/.tools/pictures go test -vet=off -count=1 -run '^TestNeovim' $(E2E)
	node $(VSCODE)/e2e/pictures.mjs .tools/pictures

clean: clean-site
clean-site:
	rm -rf dist/site $(SITE)/node_modules

check: lint prose deadcode ## what reads the code instead of running it; .ci/run does what is quick

deadcode: ## no function that only tests reach
	@unreachable=$$(go tool deadcode ./cmd/...); test -z "$$unreachable" || { echo "$$unreachable"; exit 1; }

measures: ## numbers of the structure: lines, packages, calls that run upward, complexity, fields
	go run ./.ci/measures

vet:
	go vet ./...

lint: ## the linters, go vet among them
	$(LINTER) run
	cd $(PEERS) && $(LINTER) run

PROSE := README.md CONTRIBUTING.md CHANGELOG.md docs editors/README.md editors/minimal editors/nvim \
	$(addprefix $(VSCODE)/,README.md CHANGELOG.md media src webview test) $(wildcard $(VSCODE)/e2e/*.mjs) \
	testdata/vectors rpc bridge relay lifecycle serve cmd $(wildcard packaging/*.go packaging/*.md packaging/npm/*.md) SECURITY.md CODE_OF_CONDUCT.md .github
prose: ## docs and comments, against the rules in .vale
	go run github.com/vale-cli/vale/v3/cmd/vale@v3.21.0 --output=line $(PROSE)

vulnerabilities: ## those known of what the program imports; needs the network
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

# A part of it: go run ./cmd/bridge-bench -only NAME, and -list for the names. RECORDS=FOLDER: also among ten
# million records, which are written into that folder the first time: an hour and 15 GB.
ROUNDS ?= 11
bench: setup postgres ## measures against cat, others and codex, writes docs/internals/benchmarks.md; a quarter of an hour of a machine that does nothing else
	sh cmd/bridge-bench/socat.sh
	go run ./cmd/bridge-bench -rounds $(ROUNDS) $(if $(RECORDS),-records '$(RECORDS)') -write docs/internals/benchmarks.md

# BASE=COMMIT and ROUNDS=N as in the script. It needs a machine that does nothing else.
compare: ## the Go benchmarks of this tree against those of another commit
	.ci/compare.sh

FUZZTIME ?= 60s
LAWS     ?= 1000000
fuzz: ## the laws LAWS times, then every fuzz target in turn, FUZZTIME each
	$(MAKE) laws CHECKS=$(LAWS)
	@set -e; for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# An hour or more. It goes on where it was stopped. A part of it: make mutate MUTATE_ARGS="-sample 50 bridge/policy"
mutate: setup ## whether the tests notice changes of the code that enforces the policy
	go run ./cmd/bridge-mutate $(MUTATE_ARGS)

clean:
	rm -rf bin dist .tools $(NPM)/node_modules $(VSCODE)/node_modules $(VSCODE)/e2e/node_modules $(VSCODE)/dist
