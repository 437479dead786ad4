.PHONY: help setup demo test test-kernel

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

setup: ## prepare this machine and .venv (once; afterwards a moment)
	@scripts/setup.sh

demo: setup ## one failure, from topology file to measured recovery (needs root; options: make demo ARGS="--scheme ffg")
	@scripts/as_root.sh .venv/bin/armor demo $(ARGS)

test: setup ## lint, types and all tests (options: make test ARGS="-k interpret")
	@scripts/check.sh $(ARGS)

test-kernel: setup ## what this kernel lacks, tested in a guest with a stock Debian kernel (root; docs/kernel_guest.md)
	@scripts/as_root.sh scripts/kernel_lab.sh test $(ARGS)
