# A fresh machine needs python3 with venv, make, git and a package index; everything else is fetched here.
.DEFAULT_GOAL := help
.PHONY: help run shop test check check-code check-types bench soak docs site clients dist audit clean lock format
python := .venv/bin/python

help:  ## Show this.
	@sed -n 's/^\([a-z]*\):.*##/  make \1 \t/p' Makefile | expand -t 18

run:  ## Start the whole sandbox on http://localhost:8080 (ALMONER_PORT).
	@tools/bootstrap service run
	@exec $(python) -m almoner run

shop:  ## Run the example shop in Python beside the sandbox, on http://localhost:9000 (SHOP_PORT).
	@[ -x .venv/shop/bin/almoner-client ] || { $(python) -m venv .venv/shop && .venv/shop/bin/pip install --quiet './clients/python[cli]'; }
	@exec .venv/shop/bin/python examples/shop/python/shop.py

test:  ## Run all tests on a real PostgreSQL, each suite with its seconds.
	@tools/bootstrap dev
	@tools/browser
	@tools/bootstrap docs
	@$(python) -m tools.docs_site
	@exec $(python) tools/suites.py $(suites)

check: check-code check-types  ## Format, lint, types, import contracts, architecture.

check-code:
	@tools/bootstrap dev
	$(python) -m ruff format --check .
	$(python) -m ruff check .
	$(python) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	$(python) -m pytest -q tests/architecture

check-types:
	@tools/bootstrap dev
	$(python) -m mypy

bench:  ## Measure, each figure beside its baseline (brief=1: a second of each part).
	@tools/bootstrap dev
	@exec $(python) -m bench $(if $(brief),--brief)

soak:  ## Run the long figures in parts (only=name,name minutes=most anew=1) and write them to docs/evidence/.
	@tools/bootstrap dev
	@tools/browser
	@exec $(python) -m tools.soak $(if $(only),--only $(only)) $(if $(minutes),--minutes $(minutes)) $(if $(anew),--anew)

docs:  ## Write anew what is made from the code: openapi.json, docs/reference/, clients, and the site at /docs.
	@tools/bootstrap dev
	@$(python) -m tools.reference
	@$(python) -m tools.clients
	@tools/bootstrap docs
	@exec $(python) -m tools.docs_site

site:  ## Build the site at /docs, if its pages have changed.
	@tools/bootstrap dev
	@tools/bootstrap docs
	@exec $(python) -m tools.docs_site

clients:  ## Write anew what clients/ makes from openapi.json.
	@tools/bootstrap dev
	@exec $(python) -m tools.clients

dist:  ## Build the wheel and the sdist of the last commit in dist/, with bill of materials and licences.
	@tools/bootstrap release
	@tools/bootstrap docs
	@exec $(python) -m tools.dist

audit:  ## Ask for known vulnerabilities of all that is pinned (before a release).
	@tools/bootstrap release
	@PYTHONPATH=.venv/release exec $(python) -m pip_audit --require-hashes --disable-pip -r requirements/service.txt

clean:  ## Remove the sandbox's data (var/); the virtual environment stays.
	@if [ -x $(python) ]; then \
		$(python) -m almoner clean; $(python) -m tests.support.cluster; \
	else rm -rf var .cache; fi

format:  ## Format the code and apply safe corrections.
	@tools/bootstrap dev
	$(python) -m ruff format .
	$(python) -m ruff check --fix .

lock:  ## Pin the newest versions that requirements/*.in allow, with hashes.
	@tools/bootstrap dev
	cd requirements && for group in pip service dev peers release docs; do ../$(python) -m uv pip compile --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate --quiet $$group.in -o $$group.txt; done
