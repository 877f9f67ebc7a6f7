"""``python -m dispatch_fidelity`` is the command ``dispatch-audit``."""

from .cli.main import entry_point

if __name__ == "__main__":
    entry_point()
