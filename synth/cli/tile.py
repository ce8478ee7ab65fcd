"""The command ``hwgen verify tile``."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from golden.refusal import about
from hwgen.blocks.block import Design
from hwgen.tile.block import TileDesign
from hwgen.tools.files import check_writable
from hwgen.tools.progress import Progress
from synth.cli.checks import check_jobs
from synth.proof.evidence import DIFFERENT, EQUAL, UNPROVED, Evidence, EvidenceStore, power
from synth.proof.tile import verify_tile


def verify(design: TileDesign, arguments: argparse.Namespace, is_known: Callable[[Design], bool]) -> int:
    """Check a tile, and its parts unless they are known to be equal.

    Return 0 if its results are proved to be those of the reference model, else 1.
    """
    check_jobs(arguments.jobs)
    with about("-o"):
        check_writable(Path(arguments.output))
        store = EvidenceStore(Path(arguments.output))
    progress = Progress()
    progress.start(len(design.parts) + 2)  # a line at most every few seconds, also for the last check
    try:
        records = verify_tile(
            design, store, lambda name: progress.advance(f"checking {name}"), arguments.jobs, is_known
        )
    finally:
        progress.clear()
    if arguments.json:
        print(json.dumps([record.record() for record in records], indent=2))
    else:
        known = {part.name for part in design.own_parts} - {record.module for record in records}
        print("".join(f"{name}: equal according to {arguments.verdicts}\n" for name in sorted(known)), end="")
        print("\n".join(_summary(records, store)))
    return 0 if records[-1].verdict == EQUAL else 1


def _summary(records: Sequence[Evidence], store: EvidenceStore) -> Iterator[str]:
    *parts, own = records
    for part in parts:
        yield f"{part.module}: {part.verdict} on {power(part.cases)} of {power(part.inputs)} inputs"
    if own.verdict == EQUAL:
        yield (
            f"{own.module}: equal to the reference model for all inputs, all stalls and all products, in "
            f"{own.seconds:.1f} s"
        )
        yield f"  {own.method}"
    elif own.verdict == DIFFERENT:
        yield f"{own.module}: differs from the reference model"
        yield from (f"  {case['sentence']}" for case in own.counterexamples)
    elif own.verdict == UNPROVED:
        yield f"{own.module}: not proved; {own.method}"
    yield f"  evidence: {store.path(own.name)}"
