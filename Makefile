.PHONY: help setup demo check test test-long test-repeat coverage test-mutants test-kernel docs fuzz audit lock

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

setup: ## prepare this machine and .venv (once; afterwards a moment)
	@scripts/setup.sh

demo: setup ## one failure, from topology file to measured recovery (needs root; options: make demo ARGS="--scheme ffg")
	@scripts/as_root.sh .venv/bin/armor demo $(ARGS)

check: setup ## format, lint, types and the quick tests, in at most two minutes
	@scripts/check.sh $(ARGS)

test: setup ## format, lint, types and all tests (options: make test ARGS="-k interpret")
	@scripts/test.sh $(ARGS)

test-long: setup ## as test, with many more examples, packets and repetitions (a night)
	@PROFILE=long scripts/test.sh $(ARGS)

test-repeat: setup ## all tests TIMES times in a row, and what failed in any of them; goes on after an end (TIMES=20)
	@.venv/bin/python scripts/repeat_tests.py $(or $(TIMES),20) $(or $(FOLDER),results/test-repeat)

coverage: setup ## as test with few examples of each law, and the lines and branches that no test has run
	@COVERAGE=yes PROFILE=$${PROFILE:-check} scripts/test.sh $(ARGS)

test-mutants: setup ## put each mutant of tests/mutants into a copy of the code; its tests must fail (options: ARGS="--only 'plan/*'")
	@.venv/bin/python -m tests.mutants.run $(ARGS)

test-kernel: setup ## what this kernel lacks, tested in a guest with a stock Debian kernel (root; docs/kernel_guest.md)
	@scripts/as_root.sh scripts/kernel_lab.sh test $(ARGS)

docs: setup ## the documentation site, docs/_build/html; a broken link is an error
	@scripts/docs.sh $(ARGS)

audit: setup ## known vulnerabilities of the Python packages, where their database can be reached
	@scripts/audit.sh

lock: ## hashes of all Python packages, after a pin has changed (requirements/hashes.txt)
	@scripts/lock.sh

fuzz: setup ## coverage-guided fuzzing of every reader, with atheris (options: make fuzz MINUTES=120 ARGS="openflow pmt")
	@MINUTES=$(MINUTES) scripts/fuzz.sh $(ARGS)
