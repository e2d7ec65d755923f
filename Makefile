# countersign: `make demo` shows it, `make test` tests it.

GO      ?= go
BIN     := .bin
LINT    := $(BIN)/golangci-lint
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s

# The npm packages in which GitHub's descriptions of its APIs are published.
OCTOKIT_OPENAPI := 23.0.2
OCTOKIT_GRAPHQL := 15.26.1

COMMITS ?= 1000

.PHONY: demo test postgres campaign load bench commits lint build run generate github-api fuzz clean

demo: build ## the main job, against a GitHub of its own; KEEP=1 leaves it up
	./$(BIN)/countersign demo $(if $(KEEP),--keep)

test: postgres ## every test, with the race detector; the whole-space invariants without it
	$(GO) test -race -parallel 8 -timeout 25m ./...
	@out=$$($(GO) test -count=1 -v -run '^TestInvariantsOverAllFacts$$' ./review); code=$$?; echo "$$out"; \
	test $$code -eq 0 && echo "$$out" | grep -q '^--- PASS'

postgres: ## PostgreSQL's programs, which the tests start by themselves; installed where that is possible
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >/dev/null; \
	  else echo 'the tests need the programs of PostgreSQL 15 or later (initdb, postgres), in PATH or in /usr/lib/postgresql; on Debian: apt-get install postgresql' >&2; exit 2; fi; }

campaign load: SHELL := bash -o pipefail

campaign: postgres ## whole sessions with every call to GitHub failing in every way, and kill -9 at every commit
	CAMPAIGN=whole $(GO) test -count=1 -timeout 2h -parallel 16 -v -run 'TestEveryCallFailsInEveryWay|TestKilledAtEachCommit' ./cmd/countersign | grep -vE '^ *=== |^ *\{|--- PASS: .*/'

load: postgres ## PULLS pull requests over REPOS repositories at once, three replicas, one killed, the database restarted; LIMITS=1: with GitHub's limits
	PULLS=$(or $(PULLS),2000) REPOS=$(or $(REPOS),50) LIMITS=$(LIMITS) $(GO) test -count=1 -timeout 2h -v -run TestReplicasDecideEachPullRequestOnce ./cmd/countersign | grep -vE '^ *\{'

bench: ## figures, beside the code that makes them; not part of the tests
	$(GO) test -run '^$$' -bench . -benchtime $(or $(BENCHTIME),2s) $(or $(PKG),./...)

commits: ## the reader of diffs, against git, over COMMITS random commits of the bare clones CLONES="dir dir"; SEED repeats a run
	@test -n "$(CLONES)" || { echo 'make commits: CLONES is empty: right is CLONES="/path/to/a/bare/clone /path/to/another"' >&2; exit 2; }
	CLONES="$(CLONES)" COMMITS="$(COMMITS)" SEED="$(SEED)" $(GO) test -count=1 -timeout 2h -v -run '^TestHistory$$' ./risk/diff

lint: $(LINT)
	$(LINT) run ./...

$(LINT): .tools/go.mod .tools/go.sum
	cd .tools && $(GO) build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

build: ## one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/countersign ./cmd/countersign

run: build ## serve; settings from the environment (README)
	./$(BIN)/countersign serve

generate:
	$(GO) generate ./...

github-api: ## GitHub's API descriptions once more, from the packages above (needs npm)
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	npm pack --silent --pack-destination "$$tmp" @octokit/openapi@$(OCTOKIT_OPENAPI) @octokit/graphql-schema@$(OCTOKIT_GRAPHQL) >/dev/null; \
	tar -xzf "$$tmp/octokit-openapi-$(OCTOKIT_OPENAPI).tgz" -C "$$tmp" package/generated/api.github.com.json; \
	tar -xzf "$$tmp/octokit-graphql-schema-$(OCTOKIT_GRAPHQL).tgz" -C "$$tmp" package/schema.graphql; \
	$(GO) run ./app/githubsim/apicheck/reduce -version $(OCTOKIT_OPENAPI) -openapi "$$tmp/package/generated/api.github.com.json" \
	  -ops testdata/github/ops.txt -hooks testdata/github/hooks.txt -out testdata/github/api-reduced.json; \
	$(GO) run ./app/githubsim/apicheck/reduce -graphql "$$tmp/package/schema.graphql" \
	  -mutations testdata/github/mutations.txt -out app/githubsim/schema.graphql.gz

fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$p || exit 1; \
	  done; \
	done

clean:
	rm -rf $(BIN)
