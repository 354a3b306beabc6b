# The targets with a "##" are for people; `make help` lists them. CI (.ci/run) calls targets and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

# Tools are pinned and live outside the tree, each version in a folder of its own.
GOLANGCI_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tidemark
GOLANGCI := $(CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GOVULNCHECK := $(CACHE)/bin/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck

# Binaries name their version themselves, so go need not ask the repository, which a foreign owner would refuse.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false
VERSION ?= $(or $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null),unknown)
GOARCH ?= $(shell go env GOARCH)
GO_BUILD = CGO_ENABLED=0 GOARCH=$(GOARCH) go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

# Suites that need services carry these build tags.
TAGS := integration,drill
FUNCTIONS := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
SOURCES := $(shell find . \( -path ./.git -o -path ./build \) -prune \
  -o -type f \( -name '*.go' -o -name '*.sql' -o -name go.mod \) -print)
DOCUMENTS := $(wildcard README.md docs shared)

.PHONY: help build test demo lint fmt generate verify clean
.PHONY: tools fmt-check golangci vet vuln tidy-check generate-check FORCE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

build: $(FUNCTIONS:%=build/%/bootstrap) build/tidemark ## Build all binaries into build/ (GOARCH=arm64: for another machine)

build/%/bootstrap: FORCE
	GOOS=linux $(GO_BUILD) -tags lambda.norpc -o $@ ./functions/$*

build/tidemark: FORCE
	$(GO_BUILD) -o $@ ./cmd/tidemark

build/report: FORCE
	@go build -o $@ ./tests/report

# Drills run binaries that they build, of which go's cache of results knows nothing: hence -count=1.
define run_tests
go test -race -count=1 -timeout 10m -tags $(TAGS) -json ./... | build/report lines -save build/test.json
endef

test: build/report ## Run every test with the race detector; fails on a skipped one
	$(run_tests)

build/test.json: $(SOURCES) | build/report
	$(run_tests)

demo: ## Show Tidemark at work against services that it starts and stops itself
	go run ./tests/demo

lint: golangci vet ## Run the linters

golangci: $(GOLANGCI)
	$(GOLANGCI) run ./...

vet:
	go vet -tags $(TAGS) ./...

fmt: $(GOLANGCI) ## Format all Go files
	$(GOLANGCI) fmt

fmt-check: $(GOLANGCI)
	$(GOLANGCI) fmt --diff

generate: ## Write the generated files anew
	go run ./tests/docs/configuration

verify: generate-check tidy-check build/test.json build/report ## Check that generated files, go.mod and the documents' tables are not stale
	build/report tables -events build/test.json $(DOCUMENTS)
	go test -run TestTree/DocumentsNameRealTargets ./tests/arch

generate-check:
	go run ./tests/docs/configuration -check

tidy-check:
	go mod tidy -diff

# Without the database of vulnerabilities nothing is known, good or bad; a finding fails.
vuln:
	@test -x $(GOVULNCHECK) || \
	  GOBIN=$(dir $(GOVULNCHECK)) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) || \
	  { echo "vulnerabilities: govulncheck $(GOVULNCHECK_VERSION) is not reachable, not checked"; exit 0; }; \
	if found=$$(timeout 300 $(GOVULNCHECK) ./... 2>&1); then echo "$$found"; \
	elif [[ $$? == 124 || $$found == *"fetching vulnerabilities"* ]]; then \
	  echo "vulnerabilities: the database is not reachable, not checked"; \
	else echo "$$found"; exit 1; fi

tools: $(GOLANGCI)

$(GOLANGCI):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

clean: ## Remove what was built
	rm -rf build

FORCE:
