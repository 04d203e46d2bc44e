# Two commands matter: `make up` and `make test`. Everything they need is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
TESTS ?= tests
# One test process more than cores: some always wait for a process, a browser or a lock.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))
SOURCES := src tests bench requirements
RECORD := test-artefacts/reliability.json

.DEFAULT_GOAL := help
.PHONY: help install up package browser cluster-programs test coverage matrix battery upgrades ha reliability mutants screenshots schemathesis bench bench-compare lint lint-types lint-source test-modules audit format schema openapi lock clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Studiogate needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# One stamp per lock file: an unchanged lock is not installed again.
$(VENV)/runtime.stamp: requirements/runtime.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked dependencies into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src # what pip does for a package: PYTHONDONTWRITEBYTECODE would compile at every start
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/runtime.stamp
	@echo "Installing the locked development dependencies …"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

install: $(VENV)/dev.stamp ## create .venv and install everything, hash-checked

up: $(VENV)/runtime.stamp ## run Studiogate with a demo studio on http://127.0.0.1:8080; PORT=8081 DATA=./other: elsewhere
	@exec $(BIN)/studiogate up $(if $(PORT),--port "$(PORT)") $(if $(DATA),--data "$(DATA)")

build/deployment/stamp: requirements/deployment.txt | $(BIN)/python
	@$(PYTHON) -m venv build/deployment
	@build/deployment/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/deployment.txt
	@touch $@

# The same commit makes the same files, byte for byte.
package: $(VENV)/runtime.stamp build/deployment/stamp ## the wheel, and its bill of materials (CycloneDX), into dist/
	@rm -rf dist
	$(BIN)/python -m hatchling build -t wheel
	build/deployment/bin/cyclonedx-py requirements requirements/service.txt --pyproject pyproject.toml --output-reproducible \
		--no-validate -o dist/studiogate.cdx.json

# The browser for the tests of pages, where it may be installed: Debian's chromium, of which the headless shell is enough.
# Without it these tests are skipped and say so. The same for Redis and Swift.
browser:
	@{ command -v redis-server && command -v swift-proxy-server; } >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& echo "Installing redis-server and swift for the tests of several machines …" && apt-get -qq update \
		&& apt-get -qq install -y --no-install-recommends redis-server \
			swift-proxy swift-account swift-container swift-object >/dev/null; } || true
	@command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& echo "Installing chromium for the tests of pages …" && apt-get -qq update \
		&& { apt-get -qq install -y --no-install-recommends chromium-headless-shell >/dev/null \
			|| apt-get -qq install -y --no-install-recommends chromium >/dev/null; }; } || true

# etcd and HAProxy for the tests of a failover cluster, where they may be installed; otherwise these say what is missing.
# Debian would start them: the tests start their own.
cluster-programs:
	@{ command -v etcd && command -v haproxy; } >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& echo "Installing etcd and HAProxy for the tests of a cluster …" && apt-get -qq update \
		&& RUNLEVEL=1 apt-get -qq install -y --no-install-recommends etcd-server haproxy >/dev/null; } || true

# The test processes share what they compile, and the next run finds it.
test: export PYTHONDONTWRITEBYTECODE :=
test: BESIDE_LINT := test-modules
test: lint browser ## lint, then the whole test suite against a real PostgreSQL
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10 -m "not battery" $(TESTS)

coverage: $(VENV)/dev.stamp browser ## the tests, and which lines and branches they execute; TESTS=tests/domain: a part of them
	@rm -rf build/coverage && mkdir -p build/coverage && chmod 1777 build/coverage # services that root starts run as another user
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not battery" $(TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report

matrix: $(VENV)/dev.stamp ## a selection of the tests on every supported PostgreSQL and Python found here; ONLY="postgres-15 python-3.13"
	$(BIN)/python -m tests.support.matrix --workers $(WORKERS) $(if $(ONLY),--only $(ONLY))

battery: $(VENV)/dev.stamp cluster-programs ## the long tests, one at a time, over an hour; PART=overload: one part; SEED=…: as before
	$(BIN)/python -m pytest -s -rs -m battery $(if $(PART),--part $(PART)) $(if $(SEED),--seed $(SEED)) --record $(RECORD) $(TESTS)

ha: ## faults of a three-node PostgreSQL cluster on loopback, under load, in about 25 minutes: the battery's part of that name
	@$(MAKE) --no-print-directory battery PART=ha

upgrades: ## earlier releases and this one beside each other under load, behind HAProxy
	@$(MAKE) --no-print-directory battery PART=upgrades TESTS=tests/server/test_upgrades.py

reliability: $(VENV)/dev.stamp ## after the battery: the everyday tests of the promises, then docs/reliability.md from all recorded runs
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not battery" --record $(RECORD) $$($(BIN)/python -m tests.support.reliability --tests)
	$(BIN)/python -m tests.support.reliability $(RECORD)

mutants: $(VENV)/dev.stamp ## which mistakes in rules and booking flows the nearest tests notice; SAMPLE=300 SEED=…
	$(BIN)/python -m tests.support.mutation_sample --sample $(or $(SAMPLE),300) --seed $(or $(SEED),1)

screenshots: $(VENV)/dev.stamp browser ## the pictures of README and documentation, from the demo studio in a real browser
	$(BIN)/python -m tests.support.screenshots $(ARGS)

schemathesis: $(VENV)/dev.stamp ## the service against its OpenAPI document, 100 cases per operation
	SCHEMATHESIS_EXAMPLES=100 $(BIN)/python -m pytest tests/api/test_schemathesis.py

bench: $(VENV)/dev.stamp ## how fast it is, in about fifteen minutes; ARGS="--only reads" for a part of it
	$(BIN)/python -m bench $(ARGS)

bench-compare: $(VENV)/dev.stamp ## two runs side by side: make bench-compare A=bench/results/….json B=bench/results/….json
	$(BIN)/python -m bench --compare $(A) $(B)

lint: $(VENV)/dev.stamp ## ruff, mypy --strict, the layers, dead code, bandit, the migrations, the lock files
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-types lint-source $(BESIDE_LINT)

# Half of the time is mypy's, which uses one core.
lint-types:
	$(BIN)/mypy

# Compiled once, beside mypy: otherwise each test process of a fresh clone compiles all of them.
test-modules:
	@$(BIN)/python -m pytest --collect-only --quiet $(TESTS) >/dev/null || true

lint-source:
	$(BIN)/lint-imports --no-logo
	$(BIN)/vulture
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src
	$(BIN)/squawk --config .squawk.toml src/studiogate/storage/db/migrations/*.sql
	$(BIN)/python requirements/audit.py --offline

audit: $(VENV)/dev.stamp ## the locked dependencies against published advisories; status 2: could not be checked
	$(BIN)/python requirements/audit.py

format: $(VENV)/dev.stamp ## let ruff fix what it can
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

schema: $(VENV)/dev.stamp ## write storage/db/schema.sql anew after a migration
	$(BIN)/python -m tests.support.schema_dump

openapi: $(VENV)/dev.stamp ## write docs/openapi.json after a change of the interface; ARGS=--break if it breaks partners
	$(BIN)/python -m tests.support.openapi_changes $(ARGS)

lock: $(BIN)/python ## resolve the newest versions into requirements/*.txt
	@$(PIP) install uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--extra build --extra embedded --extra limits --extra objects pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--extra limits --extra objects pyproject.toml -c requirements/runtime.txt -o requirements/service.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--extra build --extra embedded --extra limits --extra objects --extra dev pyproject.toml -c requirements/runtime.txt -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--group pyproject.toml:generators -o requirements/generators.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--group pyproject.toml:deployment -o requirements/deployment.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--group pyproject.toml:cluster -o requirements/cluster.txt
	@command -v npm >/dev/null && cd requirements/generators && npm update --package-lock-only --no-audit --omit-lockfile-registry-resolved || true

clean: ## remove the environment and caches (never ./data)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build test-artefacts
