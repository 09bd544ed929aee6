# `make` lists the targets. CI runs `make test` and two minutes of `make prove`.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Linters run at a fixed version outside go.mod, because users do not build them.
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
PROGRAMS    := memcached redis-server redis-cli chromium curl cc
FUZZTIME    ?= 60s

# Without their paths, what was built and looked at in one checkout serves another, and
# what lint has built serves the tests.
export GOFLAGS += -trimpath

# With this, tests whose server is missing fail instead of being skipped.
export RINGTREE_SERVERS := required

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install the servers, the browser and the C compiler the tests use, or say what to install
	scripts/setup.sh $(PROGRAMS)
	for module in . bench adapters/*; do (cd $$module && go mod download) || exit; done

.PHONY: test
test: ## run setup, lint and all tests, with real servers, in a few minutes
	scripts/test.sh

.PHONY: prove
prove: setup ## prove all that takes longer, or with FOR=2m what fits into that time
	scripts/prove.sh $(FUZZTIME) $(FOR)

.PHONY: race
race: setup ## run all tests under the race detector
	CGO_ENABLED=1 go test -race -timeout 1h ./...

.PHONY: lint
lint: ## run gofmt, go vet and staticcheck
	scripts/lint.sh $(STATICCHECK)

.PHONY: generate
generate: ## regenerate all generated files
	go generate ./...
	cd bench && go generate ./...

# PAGES=reliability tries all faults, losses and releases on everything, which takes hours.
.PHONY: docs
docs: setup ## measure and draw what docs/ shows: costs, sizing, pictures and screenshots, or PAGES
	scripts/docs.sh $(PAGES)

# COMPARE holds flags for other runs, which write no page, such as "-workloads pages -peers sqlite,ringtree-file"; -h lists them.
.PHONY: compare
compare: ## measure ringtree beside GORM, pgx and SQLite, and write docs/benchmarks.md
	scripts/setup.sh postgres redis-server memcached cc
	mkdir -p tmp
	cd bench && CGO_ENABLED=1 go test -count=1 -tags mattn ./compare/site ./compare/peers
	cd bench && CGO_ENABLED=1 go run -tags mattn ./compare -o ../tmp/compare.jsonl $(or $(COMPARE),-page ../docs)

.PHONY: clean
clean: ## remove what builds and tests left behind, but not the sample app's data
	rm -rf bin tmp
	find . -type f -not -path './.git/*' -not -path './example-app/data/*' \
		\( -name '*.test' -o -name '*.prof' -o -name '*.out' \) -delete
