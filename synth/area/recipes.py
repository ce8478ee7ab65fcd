"""Recipes (synthesis scripts for ABC) and portfolios (fixed, named sets of them). A figure is the best of a portfolio.

ABC's commands in the scripts:

===============  ====================================================================================================
``dc2``          rewrites the and-inverter graph; ``dch`` adds structural choices; ``syn2``, ``synch2`` do both harder
``&if -a``       covers by LUTs for least area (for least depth without ``-a``, as in Yosys's own flows)
``&mfs -M 500``  resynthesizes LUTs with don't-cares at bounded effort (unbounded: twice the time for 1%)
``amap -m``      covers by cells for least area and recognizes multiplexers; ``map``, ``&nf``: for least delay
``if -g``        makes the and-inverter graph shallow at the cost of area
``mfs2 -e``      resynthesizes LUTs of 5 inputs (``if -K 5``) with don't-cares, proved by SAT; ``-W``, ``-F`` and ``-M``
                 bound the window that it looks at, ``-D`` and ``-L`` depth and growth of levels
``buffer``       buffers large loads; ``upsize`` takes larger cells where that helps (``-I``: number of steps),
                 ``dnsize`` smaller ones elsewhere
===============  ====================================================================================================

They were chosen on MACs, multipliers and encoders of three formats, with four renamings each, on one machine. For LUTs,
the stock flows gave 8% (ice40) to 50% (ecp5) more than the best, with spreads of 5 to 10%, and took the longest;
``synch`` or ``syn2_dch`` was within 2% of the best of 25 scripts nearly everywhere, with spreads of 1 to 2%. For cells,
stock gave 10 to 40% more than ``amap``; a second pass (``amap2``) wins on multipliers, resynthesis as 6-input LUTs
(``lut_amap``) on encoders, by up to 20%. Each recipe of the standard portfolio is the best somewhere in the default
report. The speed portfolio is the Pareto front, area against delay, of 40 scripts on our own gates, osu018, sky130 and
sg13g2: a delay target changes a netlist by a few per cent, the number of sizing steps by a third, and the structure
that is sized by a factor of two. The recipes with ``mfs`` are the front of about 60 scripts on MACs that are built for
speed, and of 30 on those built for area: don't-cares between two passes for depth take up to 6% off the shortest delay
of the former and 6 to 11% off that of the latter, and give the smallest area at 22 of the 28 limits into binary16 of
``make fast``. LUTs of 4 or 5 inputs are better for that than those of 6 or 8: up to 7% smaller within the same delay.
"""

from typing import Literal

from golden.refusal import check_choice

SPEED = "speed"
"""The portfolio whose netlists are also timed: each recipe is a point between small and fast."""

STOCK = "stock"
"""The recipe that is Yosys's own script."""

Kind = Literal["lut", "cells"]
"""What a recipe maps to: LUTs by ``abc9``, or cells of a Liberty library by ``abc``."""

_LUTS = "&if -a; &mfs -M 500"
_SIZED = "topo; buffer -c; topo; upsize; dnsize"
_SHALLOW = "strash; dch; if -g; strash"
_SHALLOWER = f"{_SHALLOW}; dch; if -g; strash; dc2; dch"
_MAP = "map -B 0.9"
_MFS2 = "if -K 5; mfs2 -e -W 100 -F 200 -D 200 -M 600 -L 100"
_MFS = f"{_SHALLOW}; dch; {_MFS2}"
_MFS_DC2 = f"{_MFS}; strash; dc2"
_SHALLOWER_MFS = f"{_SHALLOWER}; {_MFS2}; strash; dc2"
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
        "shallow_map_2": f"{_SHALLOWER}; {_MAP}; {_STEPS.format(2)}",
        "shallow_map_8": f"{_SHALLOWER}; {_MAP}; {_STEPS.format(8)}",
        "shallow_map": f"{_SHALLOWER}; {_MAP}; {_SIZED}",
        "shallower_mfs_amap_6": f"{_SHALLOWER_MFS}; dch; amap -m; {_STEPS.format(6)}",
        "mfs_amap_8": f"{_MFS_DC2}; dch; amap -m; {_STEPS.format(8)}",
        "shallower_mfs_map_6": f"{_SHALLOWER_MFS}; dch; {_MAP}; {_STEPS.format(6)}",
        "shallower_mfs_map_12": f"{_SHALLOWER_MFS}; dch; {_MAP}; {_STEPS.format(12)}",
        "mfs_dc2_map_20": f"{_MFS_DC2}; dch; {_MAP}; {_STEPS.format(20)}",
        "mfs_map_20": f"{_MFS}; strash; dch; {_MAP}; {_STEPS.format(20)}",
        "mfs_dc2_depth_map_28": f"{_MFS_DC2}; {_SHALLOW}; dch; {_MAP}; {_STEPS.format(28)}",
        "mfs_dc2_depth_map": f"{_MFS_DC2}; {_SHALLOW}; dch; {_MAP}; {_SIZED}",
        "mfs_depth_map_28": f"{_MFS}; {_SHALLOW}; dch; {_MAP}; {_STEPS.format(28)}",
        "mfs_depth_map": f"{_MFS}; {_SHALLOW}; dch; {_MAP}; {_SIZED}",
        "mfs_fast_map": f"{_SHALLOW}; dch; if -K 5; mfs2 -e -W 20; {_SHALLOW}; dch; {_MAP}; {_SIZED}",
        "depth_map_4": f"{_SHALLOW}; dch; {_MAP}; {_STEPS.format(4)}",
        "depth_map": f"{_SHALLOW}; dch; {_MAP}; {_SIZED}",
    },
}
"""ABC script of each recipe; None stands for Yosys's own script."""

SIZING = tuple(recipe for recipe, script in RECIPES["cells"].items() if script is not None and "upsize" in script)
"""Recipes that choose the sizes of cells; they need a library with delays."""

PORTFOLIOS: dict[str, dict[Kind, tuple[str, ...]]] = {
    "standard": {"lut": ("synch", "syn2_dch"), "cells": ("amap", "amap2", "lut_amap")},
    "stock": {"lut": ("stock",), "cells": ("stock",)},
    SPEED: {"lut": ("stock", "synch"), "cells": ("amap", *SIZING)},
    "full": {"lut": ("stock", "synch", "syn2_dch"), "cells": ("stock", "amap", "amap2", "lut_amap")},
}
"""Figures are quoted from ``standard``; ``stock`` repeats Yosys's own flows; ``full`` is both; ``speed`` is a curve."""

DEFAULT_PORTFOLIO = "standard"


def portfolio(name: str, kind: Kind) -> dict[str, str | None]:
    """Scripts of a portfolio for one kind of target, by recipe name; an unknown portfolio is refused."""
    check_choice("portfolio", name, tuple(PORTFOLIOS))
    return {recipe: RECIPES[kind][recipe] for recipe in PORTFOLIOS[name][kind]}
