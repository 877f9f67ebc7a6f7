"""What all tests share: the marker that ties a test to a known fault, and where shared samples lie."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "fault(row): the test fails on this fault of the reference implementation (docs/faults.md)"
    )


@pytest.fixture
def shared() -> Path:
    """The folder of shared samples beside the project; the test says so and is left out where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the shared samples (../shared) are not beside the project")
    return SHARED


@pytest.fixture
def artifacts() -> Path:
    """Artifacts written by the reference implementation 0.3.1."""
    return Path(__file__).parent / "assets" / "artifacts_v1"
