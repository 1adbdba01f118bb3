# The commands of this repository; `make` without a target lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
ENGINE := pkg/local/engine
TOOL := go tool -modfile=tools.mod

# Without cgo, as the functions are built, so that every command shares one cache of compiled packages. The race
# detector needs cgo.
export CGO_ENABLED ?= 0
# If the engine was deleted, forget which one it was, so that make fetches it again.
$(shell test -e "bin/$$(cat bin/engine 2>/dev/null)" || rm -f bin/engine)
# Tests that drive the service from outside, with browsers, built functions and third-party clients. Their own processes
# have no state that goroutines share.
OUTSIDE := pkg/app/agents pkg/app/docspage internal/test/e2e pkg/app/generated internal/test/replay pkg/oauth/browser pkg/oauth/conformance
# Many tests wait for their engine or for a time limit. By default, Go would run only as many tests at a time as there
# are processors.
PARALLEL := -parallel 8
# npm packages for tests only.
NPM_TESTS := $(patsubst %package.json,%node_modules/.package-lock.json,$(wildcard pkg/oauth/*/package.json pkg/app/*/package.json))
# The browser of the tests: CHROME, else an installed one. internal/test/testkit looks for it in the same places.
MAC_CHROME := /Applications/Google Chrome.app/Contents/MacOS/Google Chrome
BROWSER = $(or $(CHROME),$(shell command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome || \
	command -v google-chrome-stable || ls '$(MAC_CHROME)' 2>/dev/null))

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z0-9%A-Z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-20s %s\n", $$1, $$2}'

.PHONY: build
build: bin/engine ## build bin/svc and fetch the embedded DynamoDB engine
	go build -ldflags "-X main.stamp=$(shell git describe --always --abbrev=12 --match= --dirty=-changed 2>/dev/null)" -o bin/svc ./cmd/svc

.PHONY: run
run: build ## build, then run everything on this machine (PORT=8080)
	@exec bin/svc dev

.PHONY: seed-large
seed-large: build ## fill the data folder with a large tenant (TENANT=metro TRIPS=100000)
	@exec bin/svc seed --tenant $(or $(TENANT),metro) --trips $(or $(TRIPS),100000)

.PHONY: cpu
cpu: bin/engine ## measure processor time and allocations of the built functions into bench/used.json (BASE=revision to compare with)
	go run ./bench -cpu $(if $(BASE),-base $(BASE))

.PHONY: cpu-check
cpu-check: bin/engine ## fail if an endpoint allocates over 10 % more than in the last make cpu
	go run ./bench -cpu -check -rounds 3 -reads 20

# internal/test/tally runs go test and says at the end what ran and what was left out. GOGC=200 collects garbage half as
# often, which saves time. Only CI shuffles, because Go keeps no results of shuffled tests. Tests that start svc start
# this one. Its name changes with what is in it, so that Go keeps no results of an older one. In CI, make lint vets.
TALLY = GOGC=200 SVC_PROGRAM=$(CURDIR)/.cache/svc/$$(sha256sum < .cache/svc/svc | cut -c1-16) go run ./internal/test/tally
# The packages whose long tests take longest. Four packages run at a time, because these wait for browsers and processes.
LONGEST := cmd/svc pkg/app pkg/app/docspage pkg/app/agents pkg/oauth/browser internal/test/replay pkg/background/projection pkg/app/generated
GO_TEST := -vet=off -p 4 $(PARALLEL) -timeout 30m $(if $(CI),-shuffle=on)
.PHONY: test
test: bin/engine browser .cache/svc/svc ## vet and run the ordinary tests: all but the long ones
	go vet ./...
	@$(TALLY) $(GO_TEST) ./...

.PHONY: test-all
test-all: bin/engine test-tools .cache/svc/svc ## vet and run all tests on the embedded engine
	$(if $(CI),,go vet ./...)
	@$(TALLY) -all -first '$(LONGEST)' $(if $(CI),-but '^$(MEETING)$$') -budget $(BUDGET) $(GO_TEST) ./...

.PHONY: exhaustive
exhaustive: bin/engine test-tools .cache/svc/svc ## run all tests, and end processes at each of their requests instead of at a sixth
	@SVC_EXHAUSTIVE=1 $(TALLY) -all -first '$(LONGEST)' $(GO_TEST) -timeout 60m ./...

BUDGET := internal/test/tally/budget.txt
.PHONY: budget
budget: bin/engine browser .cache/svc/svc ## measure each package's processor time and write its budget, on an idle machine
	@$(TALLY) -budget $(BUDGET) -update $(GO_TEST) -count=1 ./...

.PHONY: .cache/svc/svc
.cache/svc/svc:
	@rm -rf $(@D) && mkdir -p $(@D)
	@go build -buildvcs=false -o $@ ./cmd/svc
	@ln $@ $(@D)/$$(sha256sum < $@ | cut -c1-16)

# The race detector makes tests take four times the processor time, so it is not part of make test. It runs where
# goroutines meet: short tests of packages whose own code starts goroutines or shares state between them, long tests whose
# names say that something meets, and the functions, built with it, handle 64 events at once. Other tests end processes or
# step through the requests of one goroutine: there the detector has nothing to see.
SHARING := \bgo func|\bgo [A-Za-z_.]+\(|\.Go\(|\bsync\.|\batomic\.
MEETING := Test(.*(Race|Beside|AtOnce|While|Writers|Torn|SideBySide|Traffic|UnderLoad|DayOfLoad|Meanwhile|Lease).*|SilentTable|CompanyDay|SweepOfManyTenants|LostAnswers.*)
# Most tests of cmd/svc, pkg/app and pkg/background/jobs do one thing after the other. Of these packages the detector sees
# those whose code shares something, beside the ones above. TestBrokenStore calls every row, all at the same time. The others are
# of svc dev and its log, restore, dead letters of a queue, streams, webhooks, probes, the key set, the runtime API, mails and
# files, and of the turns of jobs.
SERIAL := ./cmd/svc|./pkg/app|./pkg/background/jobs
SOME := Test(BrokenStore|FirstFailedCheckAnswers|Idempotency|Rates|Ready.*|KeysOutOfReach|PanicsEndAtTheirBorder|CrashIsCounted|$\
	RequestIDInLogs|HangingReceiversHoldUpNobodyElse|QueueOfWebhooksIsFair|MessageOutlivesTheProcess|Joined|RuntimeAPI.*|Edge|Queue|$\
	Bucket|SES|EveryKindOfMail|AWSCallOnConnectionThatWasClosed|AgentsPollTheFeed|NewTableIsNotSweptBack|$\
	DevStopsWithItsContext|ChangesAreLive|RequestLog|Quiet|Listen.*|SandboxWithRobots|Webhook.*|BackupAndRestore|RestoreFinish|ImportCommand|ExportToFile|$\
	DeadLettersOfA.*|DeadTasks|HangUp|Status|CompaniesTakeTurns|PanickingRow)
.PHONY: test-race
test-race: bin/engine ## run with the race detector what has several goroutines (needs a C compiler)
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || { echo 'No C compiler: the race detector needs one (Debian: apt-get install gcc libc6-dev).' >&2; exit 1; }
	@# The race detector needs too much memory for a higher GOGC. By default each process under it sleeps a second before
	@# it ends, also each command that a test runs.
	@set -x; failed=0; export CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 GOGC=200; \
	folders() { sed 's#^#./#; s#/[^/]*$$##' | sort -u | grep -vE "^($$(printf './%s|' $(OUTSIDE))\./internal/.*|\./localstack)$$"; }; \
	packages=$$(git grep -lE '$(SHARING)' -- '*.go' ':!*_test.go' | folders); \
	some=$$(grep -vxE '$(SERIAL)' <<<"$$packages"); \
	meeting=$$(git grep -lE 'func $(MEETING)\(t ' -- '*_test.go' | folders | grep -vxF "$$some"); \
	go test -race -vet=off -p 2 $(PARALLEL) -shuffle=on -timeout 30m -run '^($(MEETING)|$(SOME))$$' $$meeting & beside=$$!; \
	SVC_LONG='^$(MEETING)$$' go test -race -vet=off -short -p 2 $(PARALLEL) -shuffle=on -timeout 30m $$some || failed=1; \
	wait $$beside || failed=1; \
	CGO_ENABLED=0 SVC_CONCURRENT=3 go test -count=1 -timeout 30m -run '^TestManyRequestsInOneProcess$$' ./internal/test/replay || failed=1; \
	exit $$failed

.PHONY: test-dynamodb-local
test-dynamodb-local: bin/engine dynamodb-local test-tools ## run all tests on DynamoDB Local (needs Java 17 and Maven)
	SVC_ENGINE=dynamodb-local go test -p 3 -shuffle=on -timeout 60m ./...

# What CI runs on DynamoDB Local, which takes five times as long as the embedded engine: short tests whose result can
# depend on the engine, and those that -short leaves out on the embedded engine only (testkit.LongHere). It compares
# conditions, orders the keys of queries and cancels transactions: pkg/data and the stores of pkg/domain. It has a
# stream: pkg/local/poller. pkg/local also starts it and creates its table.
# RACES are tests elsewhere in which several writers meet at an item, or one ends between its reads and writes.
# TestPoliciesAreWhatIsUsed calls every function. A soak of svc dev ends with svc verify, which reads what projection
# and settlement have written. All other tests meet the engine only through these packages.
# Of the stores of pkg/domain each run tries a sixth, which the commit chooses: PART=0 to 5 repeats it, and `make
# test-dynamodb-local` tries all. All others run each time.
# The packages of SHARED use one engine, because DynamoDB Local is slow until Java has compiled it. ENGINES start their own.
PART ?= $(shell echo $$((0x$$(git rev-parse --short=8 HEAD) % 6)))
SHARED = ./pkg/data/... ./pkg/access/... $(shell ls -d ./pkg/domain/*/ | awk 'NR % 6 == $(PART)')
ENGINES := ./pkg/local/engine ./pkg/local/poller ./pkg/local/schema ./pkg/local/service ./internal/test/testkit
RACING := ./pkg/oauth $(addprefix ./pkg/background/,deliver dispatch erasure jobs settlement)
EVERY := TestPoliciesAreWhatIsUsed
RACES := ^Test(.*(Race|Conflict|Starved)|Killed|LateRunner|Interrupted|TwoTrips|Torn)
.PHONY: short-dynamodb-local
short-dynamodb-local: bin/engine dynamodb-local ## run the tests that CI runs on DynamoDB Local
	@echo 'PART=$(PART) of pkg/domain'; set -x; export SVC_ENGINE=dynamodb-local; failed=0; \
	go run ./internal/test/shared go test -vet=off -short -p 2 -shuffle=on -timeout 30m $(SHARED) & beside=$$!; \
	go test -vet=off -short -p 2 -shuffle=on -timeout 30m $(ENGINES) || failed=1; \
	SVC_LONG='^$(EVERY)$$' go test -vet=off -short -p 2 -shuffle=on -timeout 30m -run '$(RACES)|^$(EVERY)$$' \
		./pkg/app/repository $(RACING) || failed=1; \
	wait $$beside || failed=1; \
	exit $$failed

.PHONY: race
race: bin/engine ## let 100,000 revocations and uses of tokens race, for some minutes (USES=100000)
	SVC_RACE=$(or $(USES),100000) go test -count=1 -timeout 30m -v -run '^TestRaceRevocation$$' ./pkg/oauth

.PHONY: concurrent
concurrent: bin/engine ## build the functions with -race and send 64 events at once, for a minute or more (ROUNDS=20)
	SVC_CONCURRENT=$(or $(ROUNDS),20) go test -count=1 -timeout 40m -v -run '^TestManyRequestsInOneProcess$$' ./internal/test/replay

.PHONY: soak
soak: build $(if $(filter dynamodb-local,$(SVC_ENGINE)),dynamodb-local) ## drive load against `svc dev` on disk; fail if its memory or files keep growing (MINUTES=60 SVC_ENGINE=dynamodb-local)
	go run ./bench -soak -minutes $(or $(MINUTES),60)
	SVC_COMPANY=$(or $(MINUTES),60)m go test ./cmd/svc -run TestCompanyDay -count=1 -timeout 0

.PHONY: bare-root
bare-root: ## prove README's commands in a bare Debian root with Go, make and npm (needs root; FULL=1 COLD=1)
	@.ci/bare-root

.PHONY: day
day: bin/engine ## drive a day of load on a fast clock; fail if memory or files keep growing, for some minutes (RIDES=60 an hour)
	SVC_DAY=$(or $(RIDES),60) go test -count=1 -timeout 60m -v -run '^TestDayOfLoad$$' ./pkg/app

.PHONY: sweep
sweep: bin/engine ## sweep 10,000 tenants for lost trips, for some minutes (TENANTS=10000)
	SVC_TENANTS=$(or $(TENANTS),10000) go test -count=1 -timeout 60m -v -run '^TestSweepOfManyTenants$$' ./pkg/background/settlement

.PHONY: golden
golden: bin/engine ## write the golden files again from what the code does now
	@# The documents come after the events, because their examples are the responses to them, and before the end-to-end
	@# suite, which calls what the document has. A step that fails does not keep the next one from saying what is missing
	@# too.
	@failed=0; set -x; \
	go test -count=1 -run 'TestEvents|TestReplay' ./pkg/edge/gateway ./internal/test/replay -update || failed=1; \
	go test -count=1 -run 'TestGoldenDocuments|TestFloorPicture|TestEventTypesPage' ./pkg/app/repository -update || failed=1; \
	go test -count=1 -run 'TestUnknownSurvivesEveryWrite' ./pkg/app -update || failed=1; \
	go test -count=1 -run TestReferenceOfCommands ./cmd/svc -update || failed=1; \
	go test -count=1 -run TestUnits ./bench -update || failed=1; \
	exit $$failed

.PHONY: ci-times
ci-times: ## write the steps of the last .ci/run and their times into docs/engineering.md
	@{ printf '| step | result | seconds |\n| --- | --- | ---: |\n'; \
		sed -E 's/^(.{32}) *(ok in [0-9]+ s|[A-Za-z ]*[A-Za-z]) +([0-9]+) s$$/| \1 | \2 | \3 |/; s/ +\|/ |/g' .cache/ci-summary; } > .cache/ci-table
	@awk '/<!-- times: end -->/ { old = 0 } !old { print } \
		/<!-- times: begin -->/ { old = 1; while ((getline row < ".cache/ci-table") > 0) print row }' docs/engineering.md > .cache/engineering.md
	@mv .cache/engineering.md docs/engineering.md

.PHONY: lint
lint: ## check format and go.mod, vet and run the linters
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not gofmt'ed:"; echo "$$bad"; exit 1; fi
	@go mod tidy -diff || { echo 'go.mod is not tidy: run go mod tidy'; exit 1; }
	go vet ./...
	go vet -tags localstack ./...
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

PUBLISHED := pkg/edge/reference/published
.PHONY: reference-page
reference-page: ## copy the component of /docs from npm into the repository, compressed
	cd $(PUBLISHED)/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	rm -f $(PUBLISHED)/assets/scalar-*.js.gz
	@# The component shows request samples for curl and for the clients in this constant. It has no option for them.
	grep -q '`ruby/native`,`node/undici`,`php/guzzle`,`python/python3`' $(PUBLISHED)/npm/node_modules/@scalar/api-reference/dist/browser/standalone.js
	sed -e '/^\/\/# sourceMappingURL/d' -e 's#`ruby/native`,`node/undici`,`php/guzzle`,`python/python3`#`js/fetch`,`python/requests`,`go/native`#' \
		$(PUBLISHED)/npm/node_modules/@scalar/api-reference/dist/browser/standalone.js \
		| gzip -9n > $(PUBLISHED)/assets/scalar.js.gz
	mv $(PUBLISHED)/assets/scalar.js.gz $(PUBLISHED)/assets/scalar-$$(sha256sum $(PUBLISHED)/assets/scalar.js.gz | cut -c1-16).js.gz

CONSOLE := $(PUBLISHED)/console
.PHONY: console
console: console/node_modules/.package-lock.json ## build the operators' console into the repository, compressed (needs npm)
	cd console && npm run --silent build
	rm -rf $(CONSOLE) && mkdir $(CONSOLE)
	cd console/dist && for f in *; do gzip -9n < $$f > ../../$(CONSOLE)/$$f.gz; done

.PHONY: console-check
console-check: console/node_modules/.package-lock.json ## check that the console in the repository is the one that its source gives
	cd console && npm run --silent test && npm run --silent build
	@for f in console/dist/*; do gzip -dc $(CONSOLE)/$$(basename $$f).gz | cmp - $$f || exit 1; done
	@[ $$(ls console/dist | wc -l) = $$(ls $(CONSOLE) | wc -l) ] || { echo 'run make console: other files'; exit 1; }
	@[ $$(git ls-files console | grep -v package-lock | xargs cat | wc -l) -le 3500 ] || { echo 'console/ has more than 3,500 lines'; exit 1; }

console/node_modules/.package-lock.json: console/package.json console/package-lock.json
	cd console && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

PICTURE := .cache/picture
.PHONY: picture
picture: bin/engine ## write the moving picture of the console in README anew (needs a browser and Python 3)
	rm -rf $(PICTURE) && mkdir -p $(PICTURE)/frames
	python3 -m pip install --quiet --disable-pip-version-check --target $(PICTURE)/pip 'pillow==12.0.0'
	go test -count=1 ./pkg/app/docspage -run TestConsoleRobots -pictures $(CURDIR)/$(PICTURE)/frames
	PYTHONPATH=$(PICTURE)/pip python3 -c "import glob; from PIL import Image; first, *rest = map(Image.open, sorted(glob.glob('$(PICTURE)/frames/*.png'))); first.save('docs/screenshots/console.webp', save_all=True, append_images=rest, duration=120, loop=0, quality=60, method=4)"
	@[ $$(wc -c < docs/screenshots/console.webp) -lt 3000000 ] || { echo 'the picture is larger than 3 MB'; exit 1; }

.PHONY: lighthouse
lighthouse: bin/engine npm-tests ## let Lighthouse audit the console, also its performance (on an idle machine)
	go test -count=1 -v ./pkg/app/docspage -run TestConsoleLighthouse -performance

CURRENCIES := .cache/currencies
.PHONY: currencies
currencies: ## write the list of currencies anew: ISO 4217 from PyPI, prices from npm (needs Python 3)
	rm -rf $(CURRENCIES) && mkdir -p $(CURRENCIES)
	python3 -m pip install --quiet --disable-pip-version-check --no-deps --target $(CURRENCIES) iso4217
	cd $(CURRENCIES) && npm init -y >/dev/null && npm install --ignore-scripts --no-audit --no-fund --loglevel=error @fawazahmed0/currency-api
	python3 pkg/base/money/currencies.py $(CURRENCIES)/iso4217/table.xml \
		$(CURRENCIES)/node_modules/@fawazahmed0/currency-api/v1/currencies/usd.json > $(CURRENCIES)/list
	mv $(CURRENCIES)/list pkg/base/money/currencies.txt

.PHONY: lint-openapi
lint-openapi: .ci/openapi/node_modules/.package-lock.json ## lint the OpenAPI document with redocly and spectral (needs npm)
	@.ci/openapi/lint

.ci/openapi/node_modules/.package-lock.json: .ci/openapi/package.json .ci/openapi/package-lock.json
	cd .ci/openapi && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: fuzz-api
fuzz-api: build ## test the service against its OpenAPI document with schemathesis
	.ci/fuzz-api

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in the code that is called
	$(TOOL) govulncheck ./...

.PHONY: clean
clean: ## remove built and fetched files, but not the local data in .local
	rm -rf bin .aws-sam .cache .hypothesis .schemathesis $(ENGINE)/node_modules pkg/oauth/*/node_modules pkg/app/*/node_modules .ci/*/node_modules console/node_modules console/dist

# The embedded engine: dynoxide if npm has a build for this machine, else DynamoDB Local, in Docker if it runs, else on
# Java. Install scripts never run. The lock file holds the hashes.
IMAGE = amazon/dynamodb-local:$(shell sed -n 's#.*<version>\(3[0-9.]*\)</version>.*#\1#p' $(ENGINE)/pom.xml | head -n 1)
bin/engine: $(ENGINE)/package.json $(ENGINE)/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing; install Node.js, whose npm fetches the database engine.' >&2; exit 1; }
	@mkdir -p bin
	cd $(ENGINE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@found=$$(ls $(ENGINE)/node_modules/@dynoxide/*/dynoxide 2>/dev/null | head -n 1); \
	if [ -n "$$found" ]; then install -m 755 "$$found" bin/dynoxide; echo dynoxide > $@; \
	elif docker info >/dev/null 2>&1 && docker pull $(IMAGE); then echo $(IMAGE) > bin/dynamodb-local-image; echo dynamodb-local-image > $@; \
	else $(MAKE) dynamodb-local && echo dynamodb-local > $@; fi

.PHONY: dynamodb-local
dynamodb-local: bin/dynamodb-local/.pom ## fetch DynamoDB Local (needs Java 17 and Maven)

bin/dynamodb-local/.pom: $(ENGINE)/pom.xml
	@command -v java >/dev/null || { echo 'java is missing; install Java 17 or later (Debian: apt-get install openjdk-17-jre-headless).' >&2; exit 1; }
	@command -v mvn >/dev/null || { echo 'mvn is missing; install Maven (Debian: apt-get install maven).' >&2; exit 1; }
	@rm -rf bin/dynamodb-local && mkdir -p bin/dynamodb-local
	mvn -q -B -f $(ENGINE)/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/bin/dynamodb-local
	@cp $< $@

.PHONY: test-tools
test-tools: browser npm-tests python-tests ## fetch all that only tests use: a browser if none is installed, clients of npm and PyPI

.PHONY: browser
browser: $(if $(BROWSER),,.cache/chromium/chrome) ## fetch Chromium for the tests, unless a browser is installed

CHROMIUM := internal/test/testkit/chromium
.cache/chromium/chrome: $(CHROMIUM)/package-lock.json $(CHROMIUM)/unpack.mjs
	@[ "$$(uname -sm)" = 'Linux x86_64' ] || { echo 'No browser was found, and npm has one for Linux x64 only. Install Chrome or Chromium, or set CHROME to the path of one.' >&2; exit 1; }
	cd $(CHROMIUM) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@rm -rf $(@D)
	node $(CHROMIUM)/unpack.mjs $(@D)
	@rm -rf $(CHROMIUM)/node_modules

.PHONY: npm-tests
npm-tests: $(NPM_TESTS) ## fetch the npm packages that only tests use

pkg/%/node_modules/.package-lock.json: pkg/%/package.json pkg/%/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing; install Node.js.' >&2; exit 1; }
	cd pkg/$* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Python packages for tests only, in their own virtual environment.
PYTHON := .cache/python
REQUIREMENTS := pkg/oauth/conformance/requirements.txt pkg/app/agents/requirements.txt pkg/app/generated/requirements.txt
.PHONY: python-tests
python-tests: $(PYTHON)/.fetched ## fetch the Python packages that only tests use

$(PYTHON)/.fetched: $(REQUIREMENTS)
	@.ci/venv $(PYTHON)
	$(PYTHON)/bin/python -m pip install --no-compile --quiet --disable-pip-version-check --only-binary=:all: $(REQUIREMENTS:%=-r %)
	@touch $@

# sam build calls build-<logical id>: build-TripsFunction builds functions/trips.
build-%Function:
	GOOS=linux GOARCH=$(LAMBDA_ARCH) CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -buildvcs=false -ldflags="-s -w -buildid=" \
		-o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $* | tr A-Z a-z)

# ---- deployment: events against the built functions, sam local, LocalStack ----

# CPU architecture of the deployed functions: arm64, or amd64 with the parameter
# Architecture=x86_64.
LAMBDA_ARCH ?= arm64

.PHONY: e2e
e2e: bin/engine ## run the end-to-end suite on `svc dev`, or on the deployment at SVC_URL
	go test -count=1 -run TestEndToEnd -v ./internal/test/e2e

.PHONY: replay
replay: bin/engine ## send the events of events/ to the built functions and compare with the golden responses
	go test -count=1 -run 'TestReplay|TestEvents' ./internal/test/replay

.PHONY: cold-starts
cold-starts: bin/engine ## measure cold starts and zip sizes into docs/tables.md
	go test -count=1 -run TestColdStarts ./internal/test/replay -cold-starts

.PHONY: localstack
localstack: ## deploy to LocalStack and run the end-to-end suite (needs Docker; KEEP=1 leaves it running)
	@localstack/run.sh

.PHONY: sam-local
sam-local: bin/engine .cache/sam/.there ## run the end-to-end suite through `sam local` (needs Docker and Python 3)
	@PATH="$(CURDIR)/.cache/sam/bin:$$PATH" localstack/sam-local.sh

.PHONY: template
template: .cache/sam/.there .cache/checkov/.there ## check template.yaml and ops/ with cfn-lint, sam validate and checkov
	.cache/sam/bin/cfn-lint template.yaml ops/*.yaml
	SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 .cache/sam/bin/sam validate --lint
	.cache/checkov/bin/checkov -f template.yaml ops/*.yaml --framework cloudformation --compact --quiet --skip-download
	@.ci/guided

.PHONY: reproducible
reproducible: .cache/sam/.there ## build every function twice in different folders and compare the zips
	@.ci/reproducible

.cache/sam/.there: PACKAGES = aws-sam-cli==1.170.0 cfn-lint==1.58.0
.cache/checkov/.there: PACKAGES = checkov==3.3.30
.cache/%/.there:
	@.ci/venv .cache/$*
	@source .ci/lib.sh && retry .cache/$*/bin/pip install --no-compile -q --disable-pip-version-check $(PACKAGES)
	@touch $@
