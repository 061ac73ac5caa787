"""The corel photographs and their reference vectors, where they are."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def corel():
    """Paths in the order of the reference, and what PyTorch gives for them."""
    folder = Path(os.environ.get("LIKEWISE_DATA", "data"))
    if not (folder / "corel_effl0.npz").is_file():
        pytest.skip("LIKEWISE_DATA names no folder with corel_effl0.npz")
    paths = [
        path
        for category in sorted((folder / "corel").iterdir())
        if category.is_dir()
        for path in sorted(category.iterdir())
    ]
    with np.load(folder / "corel_effl0.npz") as arrays:
        return paths, arrays["X"], arrays["y"]
