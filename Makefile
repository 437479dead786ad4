.PHONY: help setup demo test

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

setup: ## prepare this machine and .venv (done once, then a moment)
	@scripts/setup.sh

demo: setup ## one failure from topology file to measured recovery (needs root)
	.venv/bin/armor demo $(ARGS)

test: setup ## lint, types and all tests
	scripts/check.sh $(ARGS)
