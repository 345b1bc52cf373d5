# Everything here is a go command that can be typed as well.

.PHONY: run test race mutants schemathesis axe bench stateright fuzz lint tidy demo docs picture dist

run: ## the main story
	go run ./cmd/gcsim

test: ## all tests, and at the end which were left out for want of what
	go run ./internal/tools/need/leftout go test ./...

race:
	go test -race ./... ./internal/drivers/...

mutants: ## 100,000 histories before both judges; then each rule of the first one is broken, and has to differ; some 15 minutes
	FENCELAB_MUTANTS=1 go test -count=1 -v -timeout 3h -run 'TestTwoJudges|TestEveryRuleOfTheFirstJudgeMatters' ./internal/judge

# In a venv, as Debian's Python takes no packages beside its own.
TESTER = internal/storage/kvhttp/testdata/schemathesis/requirements.txt
schemathesis: ## a tester of APIs for the tests of internal/storage/kvhttp, by python3 and pip into the user's cache
	set -e; venv="$${XDG_CACHE_HOME:-$$HOME/.cache}/fencelab/$$(sed -n 's/^schemathesis==/schemathesis-/p' $(TESTER))"; \
		test -x "$$venv/bin/schemathesis" || { python3 -m venv "$$venv"; "$$venv/bin/pip" install --quiet --disable-pip-version-check -r $(TESTER); }

AXE = $(shell sed -n 's/^const axe = "\(.*\)"/axe-core@\1/p' internal/tools/need/need.go)
axe: ## a checker of pages for the tests in a browser, by npm into the user's cache
	set -e; to="$${XDG_CACHE_HOME:-$$HOME/.cache}/fencelab/$(subst @,-,$(AXE))"; \
		test -f "$$to/package/axe.min.js" || { mkdir -p "$$to"; cd "$$to"; npm pack --silent $(AXE) | xargs tar -xzf; }

bench: ## ratios, taken side by side, into docs/performance.md and docs/locks.md; nothing else should run meanwhile
	go test -run '^$$' -bench . ./pkg/fence ./internal/storage/kvhttp
	go run ./internal/tools/bench -o docs/performance.md
	go run ./internal/tools/bench --only compared -o internal/tools/mkdocs/measured.md
	go run ./internal/tools/mkdocs

stateright: ## the explorer's rate beside Stateright's, by cargo
	cd internal/explore/stateright && cargo build --release
	go test -run '^$$' -bench Stateright -benchtime 9x ./internal/explore

# A number of inputs for each, not a time: where the time is over Go before 1.27 may
# call that a failure, "context deadline exceeded" (go.dev/issue/75804).
FUZZTIME ?= 50000x
FUZZ = \
	./pkg/fence:FuzzParseToken ./pkg/fence:FuzzRegister \
	./pkg/fence/fencebolt:FuzzDecode ./pkg/fence/fenceetcd:FuzzDecode \
	./pkg/fence/fencehttp:FuzzParseClaim ./pkg/fence/fencehttp:FuzzTransport \
	./internal/storage/kv:FuzzReadSnapshot ./internal/storage/kv:FuzzSnapshot ./internal/storage/kv:FuzzBoltItem \
	./internal/storage/kvhttp:FuzzRequests ./internal/storage/kvhttp:FuzzBatch ./internal/storage/kvhttp:FuzzFloor ./internal/storage/kvhttp:FuzzContribLock \
	./internal/storage/access:FuzzTokensFile ./internal/storage/access:FuzzAuthorization \
	./internal/scenario:FuzzParse ./internal/outside/laws:FuzzAnswer
fuzz: ## every decoder of what comes from outside, one after another (minimising findings would take most of the time)
	set -e; for f in $(FUZZ); do go test -run '^$$' -fuzz "^$${f#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$${f%:*}"; done

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; false; }
	go vet work
	go tool staticcheck work
	go run ./internal/tools/elsewhere darwin windows
	go test ./internal/tools/prose
	.ci/tidy -diff

tidy: ## each module's go.mod and go.sum, after a change of what is imported
	.ci/tidy

demo: ## the main story with a lane for each process
	go tool goreman start

docs: ## the chapters' pictures, the table of all pitfalls and that of all locks, from a new run
	go run ./cmd/gcsim run -o gcsim-out
	set -e; for table in internal/service/*/table_test.go; do FENCELAB_LONG=1 go test "./$${table%/*}" -run TestTable -update; done
	FENCELAB_LONG=1 go test ./internal/drivers/interop -run TestPairs -update
	go run ./internal/tools/mkdocs gcsim-out

picture: ## the picture of one chapter, from a new run of its scenario: make picture SCENARIO=gc-pause
	rm -rf gcsim-out/one
	go run ./cmd/gcsim run $(SCENARIO) -o gcsim-out/one
	go run ./internal/tools/mkdocs gcsim-out/one

dist: ## the files of a release, of the commit that stands here, in dist
	.ci/dist
