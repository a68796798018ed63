# make demo: the main job on a simulated rack; make test: the suite's own tests. Both work in .venv and need only Python ≥ 3.11, gcc and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench docs detection noise steady localisation peers clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fleetcheck needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian and Ubuntu, apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,torch]'
	touch $@

demo: $(STAMP)
	$(BIN)/python -m fleetcheck.sandbox.demo

test: $(STAMP)
	$(BIN)/python -m pytest tests $(TESTFLAGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests --collect-only -qqq -n 0 --disable-warnings

bench: $(STAMP)
	$(BIN)/python -m pytest tests/benchmarks -q -s --benchmarks

docs: $(STAMP)
	$(BIN)/fleetcheck explain --write docs/checks.md

# How far verdicts can be trusted: every fault of the corpus and every look-alike; takes a quarter of an hour on two cores.
detection: $(STAMP)
	$(BIN)/python tests/faults/detection.py --write docs/detection.md

# 1,000 healthy nodes with natural variation: nothing may come of them.
noise: $(STAMP)
	$(BIN)/python tests/faults/noise.py

# Healthy simulated nodes under short real loads, over and over: how often is one blamed? 308 node-runs take about an hour on two cores.
RUNS ?= 22
steady: $(STAMP)
	nice $(BIN)/python tests/support/steady.py --runs $(RUNS)

# How often exactly the culprits of a campaign are named, from simulated ones; SECONDS is the most that one row of the page may take.
SECONDS ?= 600
localisation: $(STAMP)
	$(BIN)/python tests/localisation/grid.py --seconds $(SECONDS) --write docs/localisation.md

# How often a healthy node is blamed by its peers, and which loss is found; takes minutes.
peers: $(STAMP)
	$(BIN)/python tests/outliers/peers_simulation.py --write docs/peers.md

clean:
	rm -rf $(VENV) dist build reports/2* reports/latest
