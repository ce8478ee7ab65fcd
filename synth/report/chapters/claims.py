"""What the papers say about hardware, measured again, each with a verdict in words."""

from dataclasses import dataclass

from synth.report.figures import Figure

REPRODUCED, NOT_REPRODUCED, INSIDE = "reproduced", "not reproduced", "inside the noise"


@dataclass(frozen=True)
class Claim:
    """That one unit costs so much of another.

    Attributes
    ----------
    text : str
        What is claimed, where, and what is compared here.
    part : str
        Block that is measured.
    base, unit : str
        Formats of the two units, or pairs of formats behind a select pin.
    low, high : float
        What ``unit`` may cost, as a share of ``base``, for the claim to hold: 1.05 is 5% more.
    accumulator : str
        Of a MAC.
    """

    text: str
    part: str
    base: str
    unit: str
    low: float
    high: float
    accumulator: str = "binary16"

    @property
    def options(self) -> dict[str, str]:
        """Of the blocks beside their formats."""
        return {} if self.part == "multiplier" else {"accumulator": self.accumulator}

    @property
    def comparison(self) -> str:
        """What is measured."""
        into = f" into {self.accumulator}" if self.options else ""
        return f"{'MAC' if self.part == 'mac' else 'decode + multiply'}{into}: {self.unit} against {self.base}"


_SUBNORMALS = (
    "Without subnormals at its inputs the multiplier of an 8-bit fused MAC saves 25% to 40% (Supernormals paper, section 1, citing [6])"
)
_REPLACES = "HiFloat8 takes the place of the pair E4M3 and E5M2 (HiFloat8 paper, section 1): is a unit for it no larger than one for both?"
CLAIMS = (
    Claim(
        "FPUs for both formats are only 5% larger than those for 1-5-2 alone (Hybrid 8-bit Floating Point paper, section 2).",
        "mac", "ibm_1_5_2", "ibm_1_4_3+ibm_1_5_2", 0.0, 1.05, "dlfloat16",
    ),
    Claim(f"{_SUBNORMALS}: 5-2.", "multiplier", "binary8p3", "e5m2_nosub", 0.60, 0.75),
    Claim(f"{_SUBNORMALS}: 4-3.", "multiplier", "binary8p4", "e4m3_nosub", 0.60, 0.75),
    Claim(_REPLACES, "multiplier", "ocp_e4m3+ocp_e5m2", "hif8", 0.0, 1.0),
    Claim(_REPLACES, "mac", "ocp_e4m3+ocp_e5m2", "hif8", 0.0, 1.0),
)  # fmt: skip


def ratio(unit: Figure, base: Figure) -> tuple[float, float, float]:
    """Least, median and largest ratio that the spreads allow."""
    return unit.low / base.high, unit.median / base.median, unit.high / base.low


def verdict(claim: Claim, unit: Figure, base: Figure) -> str:
    """Whether the claim's range holds what was measured, misses it, or cannot be told from it."""
    least, middle, most = ratio(unit, base)
    if min(unit.samples, base.samples) < 2:
        return "one sample: nothing is told apart"
    if claim.low <= least and most <= claim.high:
        return REPRODUCED
    if most < claim.low or least > claim.high:
        return NOT_REPRODUCED
    return f"{INSIDE}, {'within' if claim.low <= middle <= claim.high else 'outside'} the claim by the medians"
