# Every target is one line; what it takes to run lives in .ci/, which CI runs too.

TEST = go test
PACKAGES = ./...

.PHONY: build test race lint fmt generate reference pictures check e2e bench load strangers long release

# Without debug information, the MessagePack of gin and the trace pages of gRPC, none of which anything here
# uses. The last one makes templates, and those the linker keep all methods: docs/reference/dependencies.md.
build: ; go build -trimpath -tags nomsgpack,grpcnotrace -ldflags "-s -w" -o bin/ ./cmd/...
test: ; go test ./...
# SQLite is C in Go's clothes, without goroutines of its own; the detector makes it slow.
race: ; $(TEST) -race -gcflags='modernc.org/...=-race=false' -shuffle=on -count=1 -timeout=20m $(ARGS) $(PACKAGES)
lint: ; .ci/tools && .cache/bin/golangci-lint run
fmt: ; .ci/tools && .cache/bin/golangci-lint fmt
# What was learned is learned again only where its sums do not hold.
generate: ; go generate ./...
# The pages of docs/reference and the picture of the house, from the code.
reference: ; go test -count=1 -run='^TestReference' ./cmd/molar ./internal/config ./internal/imports ./internal/telemetry ./web -update
# The pictures of the docs, of a host that runs. They are looked at before they are committed.
pictures: ; MOLAR_PICTURES=1 go test -count=1 -run='^TestPictures' ./cmd/molar
release: ; .ci/release
check: ; .ci/run
e2e: ; go test -count=1 ./cmd/... ./examples/...
bench: ; go test -run='^$$' -bench=. -benchmem ./...
load: ; .ci/load
# Servers of many vendors, from npm.
strangers: build ; go run -C bench ./strangers -molar $(CURDIR)/bin/molar
long: race ; .ci/fuzz 60s && go test -count=1 -timeout=30m -tags=long ./agent/subject/learn && go test -count=1 -timeout=30m -tags=long -run=TestStrangers ./internal/testkit/attacks && go test -count=1 -tags=long -run='TestChatPage_(Usable|Scrolling|TokenToScreen)' ./web && MOLAR_IMAGE=1 go test -count=1 ./deploy && MOLAR_REPLICAS_CYCLES=300 go test -count=1 -timeout=9h -v ./internal/testkit/replicas && MOLAR_CRASH_CYCLES=200 go test -count=1 -timeout=1h -v -run="Kill|Trouble" ./internal/testkit/crash && MOLAR_BRANCH_STEPS=10000 go test -count=1 -timeout=1h -run="(Contract|Postgres)/(contract|branches)/branches" ./internal/store && $(MAKE) strangers
