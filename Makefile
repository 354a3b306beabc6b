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
# The check of template.yaml needs tools written in Python. Their folder is named after the list of their versions.
REQUIREMENTS := tests/template/requirements.txt
PYTHON_HOME := $(CACHE)/python-$(firstword $(shell cksum <$(REQUIREMENTS)))
PYTHON := $(PYTHON_HOME)/bin/python

# Binaries name their version themselves, so go need not ask the repository, which a foreign owner would refuse.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false
VERSION ?= $(or $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null),unknown)
GO_BUILD = CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

# template.yaml deploys the folders OUT/FUNCTION. Their binaries are for ARCH, as its parameter Architecture must say too;
# beside them lie the flow file FLOW, for whose topics the template must have events, the trusted keys KEYS, without which
# the functions that read or write backups do not start, and the authorities CA of the database's certificate, if they are none of the public
# ones.
OUT ?= build
ARCH ?= arm64
FLOW ?= functions/apply/flow.yaml
KEYS ?=
CA ?=
ARCHITECTURES := arm64 amd64

# Suites that need services carry these build tags.
TAGS := integration,drill
FUNCTIONS := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
# Which of them want the flow file beside them, and which the trusted keys.
FLOWING := apply verify recover
TRUSTING := backup verify recover
SOURCES := $(shell find . \( -path ./.git -o -path ./build \) -prune \
  -o -type f \( -name '*.go' -o -name '*.sql' -o -name '*.yaml' -o -name '*.py' -o -name event.json -o -name go.mod \) -print)
DOCUMENTS := $(wildcard README.md docs shared)

.PHONY: help build test integration bench demo mutants lint fmt generate template verify clean
.PHONY: tools stand-ins fmt-check golangci vet vuln tidy-check generate-check template-python FORCE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

build: $(FUNCTIONS:%=$(OUT)/%/bootstrap) $(FLOWING:%=$(OUT)/%/flow.yaml) $(TRUSTING:%=$(OUT)/%/trusted-keys.yaml) $(OUT)/tidemark ## Build all binaries into build/, static, for arm64 and amd64

define build_for
build: $(FUNCTIONS:%=$(OUT)/linux-$(1)/%/bootstrap) $(OUT)/linux-$(1)/tidemark

$(FUNCTIONS:%=$(OUT)/linux-$(1)/%/bootstrap): $(OUT)/linux-$(1)/%/bootstrap: FORCE
	GOOS=linux GOARCH=$(1) $$(GO_BUILD) -tags lambda.norpc -o $$@ ./functions/$$*

$(OUT)/linux-$(1)/tidemark: FORCE
	GOOS=linux GOARCH=$(1) $$(GO_BUILD) -o $$@ ./cmd/tidemark
endef
$(foreach arch,$(ARCHITECTURES),$(eval $(call build_for,$(arch))))

$(FUNCTIONS:%=$(OUT)/%/bootstrap): $(OUT)/%/bootstrap: $(OUT)/linux-$(ARCH)/%/bootstrap
	@mkdir -p $(@D)
	cp $< $@

$(OUT)/apply/flow.yaml: FORCE
	go run ./tests/template -check -flow $(FLOW)
	@mkdir -p $(@D)
	cp $(FLOW) $@
	$(if $(CA),cp $(CA) $(@D)/ca.pem,rm -f $(@D)/ca.pem)

$(filter-out $(OUT)/apply/%,$(FLOWING:%=$(OUT)/%/flow.yaml)): $(OUT)/apply/flow.yaml
	@mkdir -p $(@D)
	cp $< $@

$(TRUSTING:%=$(OUT)/%/trusted-keys.yaml): FORCE
	@mkdir -p $(@D)
	$(if $(KEYS),cp $(KEYS) $@,rm -f $@)
	$(if $(CA),cp $(CA) $(@D)/ca.pem,rm -f $(@D)/ca.pem)

$(OUT)/tidemark: FORCE
	$(GO_BUILD) -o $@ ./cmd/tidemark

build/report: FORCE
	@go build -o $@ ./tests/report

# Drills run binaries that they build, of which go's cache of results knows nothing: hence -count=1.
define run_tests
go test -race -count=1 -timeout 25m -tags $(TAGS) -json ./... | build/report lines -save build/test.json
endef

test: build/report ## Run every test with the race detector; fails on a skipped one
	$(run_tests)

integration: build/report ## Run the tests that need real Kafka brokers (Java 17), MinIO and AWS's stand-ins
	go test -race -count=1 -tags integration -timeout 25m -json ./tests/integration/... ./localstack/... \
	  ./shared/archive/... ./shared/signing/... ./shared/secret/... ./shared/wiring/... | build/report lines

build/test.json: $(SOURCES) | build/report
	$(run_tests)

demo: ## Show Tidemark at work against services that it starts and stops itself
	go run ./tests/demo

mutants: ## Break each law of the ledger in turn: its named test must turn red
	go run ./tests/mutants

bench: ## Measure apply, backup and recovery beside a bare COPY and write docs/performance.md; takes minutes and wants the machine for itself
	go run ./tests/bench -out tests/bench/results.json
	go run ./tests/bench -from tests/bench/results.json -page docs/performance.md

lint: golangci vet ## Run the linters

golangci: $(GOLANGCI)
	$(GOLANGCI) run ./...

vet:
	go vet -tags $(TAGS) ./...

fmt: $(GOLANGCI) ## Format all Go files
	$(GOLANGCI) fmt

fmt-check: $(GOLANGCI)
	$(GOLANGCI) fmt --diff

generate: template ## Write the generated files anew
	go run ./tests/docs/configuration
	go run ./tests/bench -from tests/bench/results.json -page docs/performance.md

template: ## Write the parts of template.yaml that follow from the flow file (FLOW=FILE: from another one)
	go run ./tests/template -flow $(FLOW)

verify: generate-check tidy-check build/test.json build/report ## Check that generated files, go.mod and the documents' tables are not stale
	build/report tables -events build/test.json $(DOCUMENTS)
	go test -run TestTree/DocumentsNameRealTargets ./tests/arch

generate-check:
	go run ./tests/docs/configuration -check
	go run ./tests/bench -from tests/bench/results.json -page docs/performance.md -check
	go run ./tests/template -check -flow $(FLOW)

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

tools: $(GOLANGCI) $(PYTHON) stand-ins

# What the slower stand-ins of localstack run from: MinIO is built, LocalStack and MiniStack are installed.
stand-ins:
	go run ./localstack/install

$(GOLANGCI):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

# Tests ask for this path.
template-python: $(PYTHON)
	@echo $(PYTHON)

# Two makes may install at once: each fills a folder of its own, and the first to be done gives it the name.
$(PYTHON):
	@rm -rf $(PYTHON_HOME) && mkdir -p $(CACHE)
	@command -v python3 >/dev/null || { echo "template: python3 is missing: the check of template.yaml runs on it" >&2; exit 1; }
	@draft=$(PYTHON_HOME).$$$$; trap 'rm -rf "$$draft"' EXIT; \
	if ! { python3 -m venv "$$draft" && \
	  "$$draft/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r $(REQUIREMENTS); } >&2; then \
	  echo "template: the check of template.yaml needs what $(REQUIREMENTS) lists: python3 with venv, and a package" \
	    "index that pip reaches, or the folder $(PYTHON_HOME) from a machine that has both" >&2; exit 1; \
	fi; \
	test -x $@ || mv "$$draft" $(PYTHON_HOME)

clean: ## Remove what was built
	rm -rf build

FORCE:
