# Every command a newcomer needs; `make` lists them.
SHELL := /bin/bash
export REGION ?= us-west-2
export SOLVERS ?= 1
export CLUSTER_NAME ?= lab
export REAL ?=
export AUTOSCALER ?=
export TAG ?=
export IMAGE_REPOSITORY ?=
export SOURCE_REPOSITORY ?=

.PHONY: help demo lab lab-down test test-real check bench build release-check
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

demo: build ## watch pods become nodes and nodes go away, in a minute
	@node dist/lab.js demo

lab: build ## start the lab and leave it running (REGION=, SOLVERS=3, CLUSTER_NAME=, REAL=1, with it AUTOSCALER=karpenter)
	@node dist/lab.js up

lab-down: ## end the lab
	@node dist/lab.js down

test: build ## run every test that decides the same way every time: units, stories, the whole system on twins
	@npm run --silent test

test-real: build ## run the system on a real control plane, beside Karpenter, moto and boto3 (builds them the first time)
	@npm run --silent test:real

check: node_modules/.package-lock.json ## format, contracts, types, lint, unused code and the projects' tests, as far as a change affects them
	@npm run --silent check

bench: build ## run the benchmarks (names: npm run bench)
	@npm run --silent bench

release-check: node_modules/.package-lock.json ## make and check all that a release publishes, in dist/release, and upload nothing (TAG=v0.1.0 IMAGE_REPOSITORY=)
	@npx tsx tools/release-check.ts

build: node_modules/.package-lock.json
	@npm run --silent build -- --output-style=static >.build.log 2>&1 || (cat .build.log; exit 1)

node_modules/.package-lock.json: package-lock.json
	@echo "installing packages (once, about a minute)…"
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@
