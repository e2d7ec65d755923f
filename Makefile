# countersign: `make demo` shows it, `make test` tests it.

GO      ?= go
BIN     := .bin
LINT    := $(BIN)/golangci-lint
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s

.PHONY: demo test bench lint build run generate github-api fuzz clean

demo: build ## the main job, against a GitHub of its own; KEEP=1 leaves it up
	./$(BIN)/countersign demo $(if $(KEEP),--keep)

test: ## every test, with the race detector; the whole-space invariants without it
	$(GO) test -race -timeout 15m ./...
	$(GO) test -count=1 -run 'TestWholeSpace' ./review

bench: ## figures, beside the code that makes them; not part of the tests
	$(GO) test -run '^$$' -bench . -benchtime $(or $(BENCHTIME),2s) $(or $(PKG),./...)

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

fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

clean:
	rm -rf $(BIN)
