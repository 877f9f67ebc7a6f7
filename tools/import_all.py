"""Imports every module of the installed package; run in a bare environment."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import dispatch_fidelity

failed = []
for found in pkgutil.walk_packages(dispatch_fidelity.__path__, "dispatch_fidelity."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as problem:
        failed.append(f"{found.name}: {problem}")
for name in dispatch_fidelity.__all__:
    getattr(dispatch_fidelity, name)
sys.stdout.write("\n".join(failed) + "\n" if failed else "every module imports in a bare environment\n")
sys.exit(bool(failed))
