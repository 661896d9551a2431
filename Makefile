# Everything that is done with this repository. `make help` lists it.
# The work behind the local targets is internal/localstack, a Go program: go and python3 are all that must be there.

SHELL := bash
.DEFAULT_GOAL := help

LOCAL := .local/bin/localstack
TOOL  := go tool -modfile=internal/tools/go.mod
SAM   := SAM_CLI_TELEMETRY=0 .venv/sam/bin/sam
ENV   ?= dev
ARCHITECTURE ?= arm64
# A deploy that gives no parameter keeps those of before, but this one: code and template must agree on it.
GIVEN  = Architecture=$(ARCHITECTURE) $(PARAMETERS)
WRAP   = go run ./cmd -env $(ENV) $(if $(URGENT),-urgent) -parameters '$(PARAMETERS)'
# CDK warns of a node that is older than those it supports; all that is asked of it here was seen to work with 20.
INFRA := cd infra && export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20,21,23 &&

TEMPLATES := template.yaml $(wildcard examples/*/template.yaml)

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- on this machine

.PHONY: run
run: up ## all set-up, then the main job: a task from one agent to another and back; the stack stays up
	@go run ./internal/demo/cmd

.PHONY: up
up: $(LOCAL) ## start the local AWS with the application on it; repeat to deploy changes (BATON_PORT chooses the port)
	@$(LOCAL) up

.PHONY: down
down: $(LOCAL) ## stop the local AWS; its data is gone
	@$(LOCAL) down

$(LOCAL): FORCE # go knows best whether it is up to date
	@[ -e $@ ] || echo "· compile the tools for this machine (half a minute, once) …" >&2
	@go build -o $@ ./internal/localstack/cmd

.PHONY: FORCE
FORCE:

# ---- checks

.PHONY: test
test: lint secrets vulnerabilities $(LOCAL) ## lint, a look for secrets and known vulnerabilities, then all tests, on a local AWS of their own
	@$(LOCAL) test go test -race -shuffle=on -timeout 20m ./...

.PHONY: restore-rehearsal
restore-rehearsal: $(LOCAL) ## lose the tables, bring them back from a backup in an earlier layout, and look that nothing else is lost
	@$(LOCAL) test go run ./internal/rehearsal/cmd

.PHONY: bench
bench: ## what operations cost, how that grows and how long functions take to start: a table, and .local/bench.json
	@mkdir -p .local
	@cd internal/bench && go test -count=1 -timeout 30m -args -out=../../.local/bench.json

.PHONY: faults
faults: $(LOCAL) ## everything fails in turn while agents talk: a table of faults and invariants, and .local/faults.txt
	@mkdir -p .local
	@cd internal/faults && go test -count=1 -timeout 40m -v -run TestFaults -args -talks=120 -out=../../.local/faults.txt

.PHONY: load
load: up ## many organizations' agents at work on the local AWS for DURATION: times, units, invariants (TROUBLE=relay, kill or bus)
	@cd internal/load && go run -mod=mod . -duration $(or $(DURATION),2m) $(if $(TROUBLE),-trouble $(TROUBLE)) $(LOAD)

.PHONY: check
check: test test-infra ## test and test-infra

.PHONY: lint
lint: sam-tools ## formatting, vet, staticcheck, the template
	go mod tidy -diff
	@wrong=$$(gofmt -l $(wildcard client examples functions infra internal)); [ -z "$$wrong" ] || { echo "gofmt these: $$wrong"; exit 1; }
	go vet ./...
	cd internal/load && go vet -mod=mod ./...
	$(TOOL) staticcheck ./...
	for t in $(TEMPLATES); do $(SAM) validate --lint --region us-east-1 --template $$t || exit 1; done
	.venv/sam/bin/cfn-lint $(TEMPLATES)

.PHONY: secrets
secrets: LEAKS := --config internal/tools/gitleaks.toml --redact --verbose --no-banner --no-color --log-level warn
secrets: ## look for keys and other secrets in the files here and in the commits behind them
	@$(TOOL) gitleaks dir . $(LEAKS)
	@! git log -1 > /dev/null 2>&1 || $(TOOL) gitleaks git . --log-opts HEAD $(LEAKS)
	@echo "no secrets found"

.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what is used; says so, and is content, where their list can't be reached
	@out=$$(timeout 300 $(TOOL) govulncheck ./... 2>&1); status=$$?; echo "$$out"; [ $$status = 0 ] || \
		{ { [ $$status = 124 ] || grep -q 'fetching vulnerabilities' <<< "$$out"; } && \
			echo "NOT CHECKED for known vulnerabilities: their list, https://vuln.go.dev, can't be reached from here"; }

# ---- AWS

.PHONY: sam-tools
sam-tools: $(LOCAL)
	@$(LOCAL) setup sam > /dev/null

.PHONY: build
build: sam-tools ## build for AWS into .aws-sam
	CGO_ENABLED=0 GOFLAGS="-tags=lambda.norpc -trimpath '-ldflags=-s -w'" $(SAM) build --parallel --parameter-overrides $(GIVEN)

.PHONY: synth
synth: ## wrap template.yaml for ENV (dev or prod) into template.$(ENV).json; needs node, 20 or newer
	@$(INFRA) $(WRAP) -template ../template.yaml -out ../template.$(ENV).json

.PHONY: deploy
deploy: build ## deploy to the AWS account of ENV, wrapped for it (docs/operations.md; PARAMETERS="Name=value …", URGENT=yes)
	@$(INFRA) $(WRAP) -template ../.aws-sam/build/template.yaml -out ../.aws-sam/build/template.$(ENV).json
	$(SAM) deploy --template-file .aws-sam/build/template.$(ENV).json --stack-name baton-$(ENV) --resolve-s3 \
		--no-fail-on-empty-changeset --capabilities CAPABILITY_NAMED_IAM CAPABILITY_AUTO_EXPAND \
		--parameter-overrides $(GIVEN)

.PHONY: deploy-local
deploy-local: $(LOCAL) ## deploy the wrapped form to the local AWS, beside what make up deploys, less what that does not know
	@$(INFRA) go run ./cmd -local -env $(ENV) -template ../template.yaml -out ../template.local.json
	@$(LOCAL) up-wrapped

.PHONY: sam-local
sam-local: sam-tools ## every function with its sample events, then the main job, in sam's containers (docs/sam-local.md)
	@$(LOCAL) test go run ./internal/samlocal/cmd

.PHONY: test-infra
test-infra: sam-tools ## the tests of the wrapped form, and the main job through it; need node, 20 or newer
	@wrong=$$(gofmt -l infra); [ -z "$$wrong" ] || { echo "gofmt these: $$wrong"; exit 1; }
	@$(INFRA) go mod tidy -diff && go vet ./... && go test ./...
	@for env in dev prod; do $(MAKE) --no-print-directory synth ENV=$$env && .venv/sam/bin/cfn-lint template.$$env.json || exit 1; done
	@$(INFRA) go run ./cmd -local -env prod -template ../template.yaml -out ../template.local.json
	@$(LOCAL) test-wrapped bash -c 'go run ./internal/demo/cmd "$$BATON_TEST_STACK"'
