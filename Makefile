# toolgate needs Go and nothing else to build and to run. The other targets
# fetch their pinned tools into .bin/.

VERSION        ?= dev
FUZZTIME       ?= 20s
GOLANGCI_LINT  := v2.15.0
GOFUMPT        := v0.12.0
BIN            := $(CURDIR)/.bin

.DEFAULT_GOAL := build
.PHONY: build run test race e2e fuzz lint fmt generate bench check clean

build: ## the static binary, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/toolgate ./cmd/toolgate

run: ## toolgate on its embedded default
	go run ./cmd/toolgate serve

test: ## every test
	go test ./...

race: ## every test under the race detector (needs a C compiler)
	go test -race ./...

e2e: ## the real binary with real peers, not from the cache
	go test -count=1 ./test/...

fuzz: ## each fuzz target for FUZZTIME
	@set -eu; for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal test | xargs -r -n1 dirname | sort -u); do \
	  targets=$$(go test -list '^Fuzz' ./$$pkg) || { echo "$$targets"; exit 1; }; \
	  for target in $$(echo "$$targets" | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./$$pkg; \
	  done; \
	done

lint: $(BIN)/golangci-lint-$(GOLANGCI_LINT) ## golangci-lint, pinned
	$< run ./...

fmt: $(BIN)/gofumpt-$(GOFUMPT) ## gofumpt, pinned
	$< -w cmd configs internal test

generate: ## docs and schema that are made from code
	go generate ./...

bench: ## the promised figures; exits 1 when one misses
	go run ./test/bench

check: ## what CI holds a change to, without the installs
	test -z "$$(gofmt -l cmd configs internal test | tee /dev/stderr)"
	go vet ./...
	go test ./...
	go test -race ./...

clean:
	rm -rf bin coverage

# A tool's file name carries its version, so that a new pin is a new file.
$(BIN)/golangci-lint-$(GOLANGCI_LINT):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	mv $(BIN)/golangci-lint $@

$(BIN)/gofumpt-$(GOFUMPT):
	GOBIN=$(BIN) go install mvdan.cc/gofumpt@$(GOFUMPT)
	mv $(BIN)/gofumpt $@
