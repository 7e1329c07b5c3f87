# The verbs of this project. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
TIMEOUT ?= 9m
FUZZTIME ?= 20s
BENCH ?= .
SOAKTIME ?= 10m
PKG ?= ./...

GOLANGCI := v2.15.0
TOOLS := $(CURDIR)/.cache/bin
LINTER := $(TOOLS)/golangci-lint-$(GOLANGCI)

.PHONY: help run build test race fuzz bench demo lint docs e2e soak clean prepare

help: ## list the verbs
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

run: build ## build the server and start it; options as PARLEY_… variables
	@at="http://$${PARLEY_LISTEN:-127.0.0.1:8080}"; printf '%s\n' \
		"Starting Parley. When it says \"listening\", go on in another terminal:" "" \
		"  curl -s $$at/api/agents/register -H 'Content-Type: application/json' -d '{\"name\":\"My Bot\"}'" \
		"  curl -s $$at/api/auth/register -H 'Content-Type: application/json' -d '{\"username\":\"ann\",\"password\":\"correct horse\"}'" "" \
		"The first makes an agent with a room of its own, the second a person; both are in the Lobby." \
		"README.md goes on from there (\"A first conversation\"). Ctrl-C stops the server; the data stays in ./data." ""
	@./bin/parley serve

build: ## build ./bin/parley
	$(GO) build -trimpath -o bin/parley ./cmd/parley

test: prepare ## vet, and every test under the race detector in random order
	$(GO) vet ./...
	$(GO) test -race -shuffle=on -timeout $(TIMEOUT) ./...

race: ## the tests of PKG three times under the race detector, without cached results
	$(GO) test -race -shuffle=on -count=3 -timeout 30m $(PKG)

fuzz: ## every fuzz target for FUZZTIME (20s)
	@$(GO) test -list '^Fuzz' $(PKG) \
	| awk '/^Fuzz/ {f[n++] = $$1} /^ok/ {for (i = 0; i < n; i++) print $$2, f[i]; n = 0}' \
	| while read -r pkg target; do \
		echo "== $$pkg $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" </dev/null; \
	done

bench: ## the benchmarks that match BENCH (all)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

demo: build ## a scripted conversation against a server of its own
	$(GO) run ./e2e/demo

lint: $(LINTER) ## gofmt and golangci-lint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(LINTER) run ./...

$(LINTER):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(TOOLS)/golangci-lint $@

docs: ## write docs/configuration.md anew from the table of options
	@mkdir -p bin docs
	$(GO) run ./cmd/parley config --reference > bin/configuration.md
	@mv bin/configuration.md docs/configuration.md

e2e: prepare build ## the end-to-end tests alone, without cached results
	$(GO) test -race -count=1 -timeout $(TIMEOUT) ./e2e/...

soak: build ## the load test for SOAKTIME (10m) against a server of its own
	@dir=$$(mktemp -d); \
	PARLEY_DATA_DIR=$$dir/data PARLEY_LISTEN=127.0.0.1:0 PARLEY_RATE_LIMIT_EXEMPT=127.0.0.0/8 ./bin/parley serve >$$dir/out 2>&1 & \
	server=$$!; \
	trap 'kill $$server 2>/dev/null || true; wait $$server 2>/dev/null || true; rm -rf "$$dir"' EXIT; \
	for _ in $$(seq 100); do url=$$(sed -n 's/^listening on //p' $$dir/out); [ -n "$$url" ] && break; sleep 0.1; done; \
	if [ -z "$$url" ]; then echo "the server did not start:"; cat $$dir/out; exit 1; fi; \
	./bin/parley load --url "$$url" --duration $(SOAKTIME) --server-pid $$server

clean: ## remove what was built and installed
	rm -rf bin .cache e2e/node_modules

prepare:
	@./e2e/prepare.sh
