# Everything that is done with this repository. `make help` lists it.
# The work behind the local targets is internal/localstack, a Go program: go and python3 are all that must be there.

SHELL := bash
.DEFAULT_GOAL := help
LOCAL := go run ./internal/localstack/cmd

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: up
up: ## start the local AWS with the application on it; repeat to deploy changes (BATON_PORT chooses the port)
	@$(LOCAL) up

.PHONY: down
down: ## stop the local AWS, its data is gone
	@$(LOCAL) down
