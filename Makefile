# Everything that is done with this repository. `make help` lists it.
# The work behind the local targets is internal/localstack, a Go program: go and python3 are all that must be there.

SHELL := bash
.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
