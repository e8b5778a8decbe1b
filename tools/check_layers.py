#!/usr/bin/env python3
"""Checks the house rules that a compiler does not: who may include whom.

The include table of sim/README.md as data. Fails on an upward include, on SimGrid outside
replay/, on nlohmann outside the JSON reader and the writers, on exit() below main, and on a
folder that the table does not know.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder -> folders whose headers it includes; what those include comes with them.
INCLUDES = {
    "base": [],
    "spec": ["base"],
    "sharding": ["spec"],
    "workload": ["sharding"],
    "platform": ["spec"],
    "lowering": ["workload", "platform"],
    "fold": ["lowering"],
    "trace": ["workload"],
    "replay": ["fold", "trace"],
    "analysis": ["trace"],
    "report": ["analysis"],
    "commands": ["report", "replay"],
    "main.cpp": ["commands"],
}
SIMGRID_ONLY_IN = ("replay/",)
NLOHMANN_ONLY_IN = ("spec/", "report/writers/")
PROJECT_INCLUDE = re.compile(r'^\s*#include\s+"([^"/]+)/')
EXIT_CALL = re.compile(r"(?<![\w.:>])(?:std::)?(?:_?exit|abort)\s*\(")


def allowed(folder):
    """All folders that `folder` may include, itself among them."""
    seen = {folder}
    stack = [folder]
    while stack:
        for below in INCLUDES[stack.pop()]:
            if below not in seen:
                seen.add(below)
                stack.append(below)
    return seen


def problems_of(path):
    """Lines of text, one per broken rule in the file."""
    relative = path.relative_to(ROOT / "sim")
    folder = relative.parts[0]
    if folder not in INCLUDES:
        return [f"sim/{relative}: folder {folder} is not in the include table"]
    found = []
    may = allowed(folder)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"sim/{relative}:{number}: "
        match = PROJECT_INCLUDE.match(line)
        if match and match.group(1) in INCLUDES and match.group(1) not in may:
            found.append(where + f"{folder} may not include {match.group(1)}")
        if "#include <simgrid" in line and not str(relative).startswith(SIMGRID_ONLY_IN):
            found.append(where + "SimGrid belongs in replay/ only")
        if "#include <nlohmann" in line and not str(relative).startswith(NLOHMANN_ONLY_IN):
            found.append(where + "nlohmann belongs in the JSON reader and the writers only")
        code = line.split("//")[0]
        if EXIT_CALL.search(code) and folder not in ("main.cpp", "replay"):
            found.append(where + "only main ends the program")
    return found


def main():
    files = sorted((ROOT / "sim").rglob("*.h")) + sorted((ROOT / "sim").rglob("*.cpp"))
    found = [problem for path in files for problem in problems_of(path)]
    print("\n".join(found) if found else f"layers: {len(files)} files in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
