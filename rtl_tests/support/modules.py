"""The modules of emitted Verilog: a design, then the parts that it repeats."""

import re


def modules(text: str) -> dict[str, str]:
    """The text of each module by its name, from the keyword on; the design is the first."""
    texts = re.findall(r"^module .*?^endmodule\n", text, flags=re.M | re.S)
    return {module.split(maxsplit=2)[1]: module for module in texts}
