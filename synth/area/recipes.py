"""Recipes for ABC, and the fixed, named portfolios of them that a figure is the best of.

What ABC's scripts below are made of:

=================  =====================================================================================================
``dc2``            rewriting of the and-inverter graph; ``dch`` adds structural choices, ``syn2``/``synch2`` do both
harder
``&if -a``         covering by LUTs for least area (without ``-a``, as in Yosys's own flows, for least depth)
``&mfs -M 500``    resynthesis of mapped LUTs with don't-cares, its effort bounded (unbounded: twice the time for 1%)
``amap -m``        covering by cells for least area, multiplexers recognised; ``map``, ``&nf`` for least delay
``if -g``          the and-inverter graph made shallow at the price of area
``buffer``         buffers for large loads; ``upsize``, ``dnsize``: larger cells where they help, so many steps
(``-I``), smaller ones
                   elsewhere
=================  =====================================================================================================

How they were chosen (MACs, multipliers and encoders of three formats, four renamings each, one machine): the stock
flows for LUTs came out 8% (ice40) to 50% (ecp5) above the best, spread over 5 to 10%, and took the longest; ``synch``
or ``syn2_dch`` was within 2% of the best of 25 scripts nearly everywhere, spread over 1 to 2%. For cells, stock came
out 10 to 40% above ``amap``; a second pass (``amap2``) wins on multipliers, resynthesis as 6-input LUTs (``lut_amap``)
on encoders, by up to 20%. In the default report each recipe of the standard portfolio is the best somewhere. The speed
portfolio is the outer edge, area against delay, of 40 scripts on our own gates, osu018, sky130 and sg13g2: a target for
the delay moves a netlist by a few per cent, the number of sizing steps by a third, the structure that is sized by a
factor of two.
"""

from typing import Literal

from golden.refusal import check_choice

SPEED = "speed"
"""The portfolio whose netlists are timed, too: each recipe is a point between small and fast."""

STOCK = "stock"
"""What Yosys does on its own."""

Kind = Literal["lut", "cells"]
"""What a recipe maps to: LUTs by ``abc9``, or cells of a liberty library by ``abc``."""

_LUTS = "&if -a; &mfs -M 500"
_SIZED = "topo; buffer -c; topo; upsize; dnsize"
_SHALLOW = "strash; dch; if -g; strash"
_SHALLOWER = f"{_SHALLOW}; dch; if -g; strash; dc2; dch; map -B 0.9"
_STEPS = "topo; upsize -I {}; dnsize"
_COVER = "dch; amap -m; strash; dch; amap -m; topo"

RECIPES: dict[Kind, dict[str, str | None]] = {
    "lut": {
        "stock": None,
        "synch": f"&scorr; &sweep; &synch2 -K 6; {_LUTS}",
        "syn2_dch": f"&scorr; &sweep; &syn2; {_LUTS}; &st; &dch -f; {_LUTS}",
    },
    "cells": {
        "stock": None,
        "amap": "strash; dc2; dc2; dch; amap -m; topo",
        "amap2": f"strash; dc2; dc2; {_COVER}",
        "lut_amap": f"strash; dc2; dc2; &get -n; &dch -f; {_LUTS}; &put; strash; {_COVER}",
        "shallow_amap_2": f"{_SHALLOW}; dc2; dch; amap -m; {_STEPS.format(2)}",
        "shallow_amap_8": f"{_SHALLOW}; dc2; dch; amap -m; {_STEPS.format(8)}",
        "shallow_map_2": f"{_SHALLOWER}; {_STEPS.format(2)}",
        "shallow_map_8": f"{_SHALLOWER}; {_STEPS.format(8)}",
        "shallow_map": f"{_SHALLOWER}; {_SIZED}",
        "depth_map_4": f"{_SHALLOW}; dch; map -B 0.9; {_STEPS.format(4)}",
        "depth_map": f"{_SHALLOW}; dch; map -B 0.9; {_SIZED}",
    },
}
"""ABC script of each recipe; None is the script that Yosys runs on its own."""

SIZING = tuple(recipe for recipe, script in RECIPES["cells"].items() if script is not None and "upsize" in script)
"""The recipes that choose cells' sizes, for which a library must state delays."""

PORTFOLIOS: dict[str, dict[Kind, tuple[str, ...]]] = {
    "standard": {"lut": ("synch", "syn2_dch"), "cells": ("amap", "amap2", "lut_amap")},
    "stock": {"lut": ("stock",), "cells": ("stock",)},
    SPEED: {
        "lut": ("stock", "synch"),
        "cells": (
            "amap", "shallow_amap_2", "shallow_amap_8", "shallow_map_2", "shallow_map_8", "shallow_map", "depth_map_4",
            "depth_map",
        ),
    },
    "full": {"lut": ("stock", "synch", "syn2_dch"), "cells": ("stock", "amap", "amap2", "lut_amap")},
}  # fmt: skip
"""``standard`` is what figures are quoted from; ``stock`` repeats Yosys's own flows; ``full`` is both; ``speed`` is a
curve.
"""

DEFAULT_PORTFOLIO = "standard"


def portfolio(name: str, kind: Kind) -> dict[str, str | None]:
    """Scripts of a portfolio's recipes for one kind of target, by recipe name; unknown portfolios are refused."""
    check_choice("portfolio", name, tuple(PORTFOLIOS))
    return {recipe: RECIPES[kind][recipe] for recipe in PORTFOLIOS[name][kind]}
