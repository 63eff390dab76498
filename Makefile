# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PORT ?= 8000
# Tests run in several processes: most of their time is waiting. A file stays in one.
WORKERS ?= 3
APART = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PYTEST = $(BIN)/python -m pytest $(APART)

.DEFAULT_GOAL := help
.PHONY: help demo test system test-user-model test-sqlite test-postgres test-latest test-js test-browser lint types layers types-js migrations soak soak-postgres soak-sockets kills fuzz bench messages clean

help: ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[test,lint]'
	touch $@

$(VENV)/.demo: pyproject.toml requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.txt
	touch $@

demo: $(VENV)/.demo ## the demo site and its bot, on SQLite, with no token and no internet; PORT=8123 moves it
	PORT=$(PORT) $(BIN)/python manage.py demo

test: system test-sqlite test-postgres test-user-model test-js test-browser test-latest ## everything that proves it works

system:
	@sh tests/support/install_system.sh

test-sqlite: $(VENV)/.ready ## on SQLite
	$(PYTEST) -m "not browser"

test-postgres: $(VENV)/.ready ## on a private PostgreSQL that this starts (DATABASE_URL wins)
	SCHEDULES=$(or $(SCHEDULES),900) $(BIN)/python -m tests.support.postgres $(PYTEST) -m "not browser and not one_database"

test-user-model: $(VENV)/.ready ## with a user model of the site's own, whose key is no number
	$(PYTEST) --ds tests.custom_user.settings tests/admin tests/api tests/attach tests/log tests/memory tests/runs tests/test_erase.py

test-js: node_modules/.ready ## the page's modules, in node
	node --test tests/js/

test-browser: $(VENV)/.ready node_modules/.ready ## in a real chromium
	$(BIN)/python -m pytest -m browser

# The first that runs: a version manager may put a name in the path behind which there is nothing.
LATEST = $(shell for python in python3.13 $(HOME)/.pyenv/versions/3.13*/bin/python3.13; do \
	"$$python" -c "" 2>/dev/null && echo "$$python" && break; done)
test-latest: ## on Python 3.13 with the newest Django, where that Python is found
ifeq ($(LATEST),)
	@echo "No Python 3.13 here: the newest Django is not tested."
else
	$(MAKE) VENV=$(VENV)-latest PYTHON=$(LATEST) $(VENV)-latest/.ready
	SEED=2000000 SCHEDULES=100 $(VENV)-latest/bin/python -m pytest $(APART) -m "not browser and not processes and not one_database" --ignore tests/telegram --ignore tests/sandbox --ignore tests/admin
endif

lint: $(VENV)/.ready ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready ## mypy --strict
	$(BIN)/mypy

node_modules/.ready: package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --silent
	touch $@

types-js: node_modules/.ready ## the page's modules, their JSDoc types checked by tsc
	node_modules/.bin/tsc -p tsconfig.json

layers: $(VENV)/.ready ## who may import whom
	$(BIN)/lint-imports

migrations: $(VENV)/.ready ## no model without its migration
	$(BIN)/python manage.py makemigrations --check --dry-run

soak: $(VENV)/.ready ## many random schedules of attaching: SCHEDULES=10000 make soak
	SCHEDULES=$(or $(SCHEDULES),1000) $(BIN)/python -m pytest tests/convergence/test_convergence.py -s -q

soak-postgres: $(VENV)/.ready ## the same on a private PostgreSQL
	SCHEDULES=$(or $(SCHEDULES),1000) $(BIN)/python -m tests.support.postgres $(BIN)/python -m pytest tests/convergence/test_convergence.py -s -q

soak-sockets: $(VENV)/.ready ## real servers, sockets that break in mid-frame: SECONDS=60 make soak-sockets
	SECONDS=$(or $(SECONDS),60) $(BIN)/python -m pytest tests/convergence/test_sockets.py -s -q

kills: $(VENV)/.ready ## the bot's process killed at every step, on a private PostgreSQL: KILLS=100 make kills
	KILLS=$(or $(KILLS),100) $(BIN)/python -m tests.support.postgres $(BIN)/python -m pytest tests/telegram/test_kills.py -s -q

fuzz: $(VENV)/.ready ## many malformed frames: FRAMES=100000 make fuzz
	FRAMES=$(or $(FRAMES),100000) $(BIN)/python -m pytest tests/attach/test_fuzz.py -s -q

bench: $(VENV)/.ready ## measurements as ratios, on a private PostgreSQL
	$(BIN)/python -m tests.support.postgres $(BIN)/python -m bench

messages: $(VENV)/.ready ## the texts for people: collect and compile
	cd crossmemory && ../$(BIN)/django-admin makemessages -l es --no-location && ../$(BIN)/django-admin compilemessages
	$(BIN)/python manage.py makemessages -l es --no-location -i crossmemory -i tests -i bench -i node_modules -i '.venv*'
	$(BIN)/python manage.py compilemessages -i crossmemory -i '.venv*'

clean: ## remove what was built here
	rm -rf $(VENV) $(VENV)-latest node_modules .demo .test dist build
