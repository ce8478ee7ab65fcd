# Every target works on a fresh clone. Only Python 3.11+, make, g++ and perl must be installed.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
# Cell libraries for `make ranking`, separated by spaces. Commas join the files of one library.
COMMA := ,
ASAP7 := $(filter-out %SEQ_TT.lib.gz,$(wildcard ../shared/liberty/asap7_*.lib.gz))
LIBRARIES ?= $(wildcard ../shared/liberty/s*.lib.gz /usr/share/qflow/tech/osu018/osu018_stdcells.lib) \
  $(subst $() ,$(COMMA),$(ASAP7))
# The cell library of the limits in ns of `make fast`, which OpenSTA times
SKY130 ?= $(if $(shell command -v sta),$(wildcard ../shared/liberty/sky130hd_tt.lib.gz))
INSTALLED := .venv/.installed
READY := .venv/.ready
EXTRAS := .venv/.extras
TESTED := .venv/.tested
STUDIED := .venv/.studied
# Python keeps its bytecode, also where the environment says no: the tests start hundreds of commands.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup report test pytest lint ruff types docs bench limits fast dots energy references study ranking speed tiles \
  verilog exhaustive mutants readme clean
help:       ## print this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14
setup: $(TESTED)       ## install all pinned tools into .venv, and compile Yosys (once, about a minute)
report: $(READY)       ## measure the formats and write build/report/index.html
	$(BIN)/hwgen verify all --only hif8_mac_binary16,ocp_e4m3_ocp_e5m2_mac_binary16,e5m2b1_mac_binary16,ocp_e4m3_mac_binary16 -o build/evidence
	$(BIN)/python examples/digits.py --json build/digits.json
	$(BIN)/hwgen report --accuracy build/digits.json -o build/report
test: ruff       ## lint, and run the tests
	$(MAKE) --no-print-directory -j3 docs types pytest
# Tests start makes of their own, which this one does not count.
pytest: $(TESTED)
	MAKEFLAGS= $(BIN)/python -m pytest $(TESTS)
docs: $(TESTED)       ## build the HTML documentation: build/docs/index.html
	$(BIN)/sphinx-build -q -E -W --keep-going -d build/doctrees docs build/docs
lint: ruff       ## run ruff and mypy, and build the documentation; warnings are errors
	$(MAKE) --no-print-directory -j2 docs types
ruff: $(TESTED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
types: $(TESTED)
	$(BIN)/mypy
readme: report       ## make the report, and copy its figures into README and docs
	$(BIN)/python -m synth.studies.readme build/report/report.json
bench: $(TESTED)       ## measure the speed of the reference model, evaluator, proofs and sweeps
	$(BIN)/python examples/bench.py
	$(BIN)/python examples/bench_sweep.py
limits: $(READY)       ## compare the datapaths with other open hardware, eight renamings each
	$(BIN)/python -m synth.studies.limits
fast: $(READY)       ## measure MACs from small to fast for the report, compare them with limits (20 minutes; it resumes)
	$(BIN)/python -m synth.studies.fast $(SKY130:%=--liberty %); status=$$?; $(BIN)/python -m synth.studies.readme && exit $$status
dots: $(READY)       ## measure dot products by lanes, accumulator and format for the report (half an hour; it resumes)
	$(BIN)/python -m synth.studies.dots
	$(BIN)/python -m synth.studies.readme
energy: $(READY)       ## measure energies by format, delay and data for the report (a quarter of an hour; it resumes)
	$(BIN)/python -m synth.studies.energies
	$(BIN)/python -m synth.studies.readme
references: $(READY)       ## measure int8, binary16 and bfloat16 beside other formats, and roundings (an hour; it resumes)
	$(BIN)/python -m synth.studies.references
	$(BIN)/python -m synth.studies.readme
study: $(STUDIED)       ## train small networks in many formats for the report: build/study.json (two hours; it resumes)
	$(BIN)/python -m examples.training
ranking: $(READY)       ## measure multipliers and MACs twice, also on LIBRARIES; list contradicting rankings
	$(BIN)/python -m synth.studies.ranking $(LIBRARIES:%=--liberty %)
tiles: $(READY)       ## measure tiles by format and size for the report (half an hour; it resumes)
	$(BIN)/python -m synth.studies.tiles
speed: $(TESTED)       ## measure area against delay of the MACs, also after place and route: build/speed/index.html
	$(BIN)/hwgen sweep examples/speed.toml -o build/speed
	$(BIN)/hwgen report --sweep build/speed/sweep.json -o build/speed
verilog: $(READY)       ## write every default block of every format to build/verilog
	$(BIN)/python examples/all_verilog.py build/verilog
exhaustive: $(TESTED)       ## check every module on all inputs, and run the long tests (an interrupted run resumes)
	mkdir -p build
	$(BIN)/hwgen verify all --verdicts docs/proofs.csv -o build/evidence > build/exhaustive.txt || { cat build/exhaustive.txt; exit 1; }
	EXHAUSTIVE=1 $(BIN)/python -m pytest -m exhaustive $(TESTS)
	cat build/exhaustive.txt
mutants: $(TESTED)       ## after a change of the Verilog, find again the vectors that detect every fault
	mkdir -p build
	$(BIN)/python -m rtl_tests.support.mutation > build/mutants.json
	mv build/mutants.json rtl_tests/synth/studies/mutants.json
clean:       ## remove build, .venv and caches
	rm -rf build .venv .pytest_cache .mypy_cache .ruff_cache *.egg-info

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "Python 3.11 or newer is needed, not " + sys.version.split()[0])'
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) -e '.[examples]'
	touch $@
$(READY): $(INSTALLED)
	$(BIN)/python -c 'from hwgen.tools import yosys; print(yosys.version())'
	touch $@
$(EXTRAS): $(INSTALLED)
	$(INSTALL) -e '.[examples,test,lint,docs]'
	touch $@
$(STUDIED): $(READY)
	$(INSTALL) -e '.[examples,jax]'
	touch $@
$(TESTED): $(INSTALLED)
	$(MAKE) --no-print-directory -j2 $(READY) $(EXTRAS)
	touch $@
