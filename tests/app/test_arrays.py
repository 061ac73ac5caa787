"""Files of vectors that claim what they do not hold."""

import zipfile

import numpy as np
import pytest

from likewise import InputError
from likewise.app import arrays


def test_arrays_that_unpack_to_too_much_are_refused(tmp_path):
    """By the sizes that the file declares, before memory is taken."""
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        with packed.open("x.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (2**15, 2**14)}
            np.lib.format.write_array_header_1_0(file, header)
            zeros = bytes(2**24)
            for _ in range(arrays.MAX_UNPACKED // len(zeros) + 1):
                file.write(zeros)
    assert bomb.stat().st_size < 2**22

    with pytest.raises(InputError, match="unpacks to 2,064 MB; at most 2,048 are read"):
        arrays.read_arrays(bomb)


def test_arrays_that_claim_more_than_they_have_are_refused(tmp_path):
    """A shape of a terabyte in a file of a few bytes."""
    path = tmp_path / "claim.npz"
    with zipfile.ZipFile(path, "w") as packed, packed.open("x.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**20, 2**17)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(64))

    with pytest.raises(InputError, match="claims to have the shape"):
        arrays.read_arrays(path)
