"""Files of unknown making, opened without harm.

A folder may hold pipes, devices, cut or forged pictures and bombs of many pixels. Every
one of them becomes an InputError whose words say what is wrong with it.
"""

import io
import os
import stat
import struct
import warnings
import zlib
from os import PathLike
from typing import TYPE_CHECKING

from likewise.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

# No photograph of a camera is as large; reading more could exhaust the memory.
MAX_BYTES = 256 * 2**20
MAX_PIXELS = 100_000_000
# Pixels in memory, at 4 bytes each and up to four times at once: less than 1 GiB. A
# JPEG of more is read at half its size or less.
MAX_DECODED = 48_000_000
# Rows of greys that are brought to eight bits at once.
N_ROWS = 256
# What Pillow may take a file for: its other readers run programs or know few pictures.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
# What phones write needs a library of its own.
HEIF_SUFFIXES = frozenset({".heic", ".heif", ".avif"})
HEIF_FORMATS = ("HEIF", "AVIF")
# Pictures much larger than what is made of them are read at half, quarter or eighth
# size where the format can: a camera's photograph takes 70 ms instead of 170.
ENOUGH_SIDE = 1024
# What Pillow's readers raise on broken files.
_BROKEN = (
    OSError,
    ValueError,
    TypeError,
    SyntaxError,
    EOFError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
)


def read_bytes(path: str | PathLike[str], most: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file; a pipe or device is refused, not waited for."""
    try:
        # Without O_NONBLOCK, opening a pipe waits for someone to write into it.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise InputError("not a regular file")
        if found.st_size > most:
            raise InputError(f"larger than {most // 2**20} MB")
        try:
            return file.read(most)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}") from error


def open_picture(data: bytes) -> "Image":
    """The picture in these bytes: upright, in RGB, on white."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading pictures", "images") from error

    formats = _formats(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Its size is what a picture is refused for; the warning would be a second.
            with Image.open(io.BytesIO(data), formats=formats) as opened:
                if opened.width * opened.height > MAX_PIXELS:
                    raise InputError("too many pixels")
                opened.draft("RGB", (ENOUGH_SIDE, ENOUGH_SIDE))
                if opened.width * opened.height > MAX_DECODED:
                    raise InputError("too many pixels")
                plain = _plain(opened)
                # The reader of WebP keeps the picture twice: let go of it.
                return plain.copy() if plain is opened else plain
    except InputError:
        raise
    except UnidentifiedImageError as error:
        raise InputError("not a picture, or damaged") from error
    except Image.DecompressionBombError as error:
        raise InputError("too many pixels") from error
    except _BROKEN as error:
        raise InputError(f"cannot be read: {error}") from error


def _formats(data: bytes) -> tuple[str, ...]:
    """What the bytes may be taken for; those of phones where they can be read."""
    if data[4:8] != b"ftyp":
        return FORMATS
    try:
        import pillow_heif
    except ModuleNotFoundError as error:
        raise InputError(
            "HEIC and AVIF need a library: pip install 'likewise[heic]'"
        ) from error
    pillow_heif.register_heif_opener()
    return HEIF_FORMATS


def _plain(picture: "Image") -> "Image":
    """Turned as the camera says, without transparency, in RGB of eight bits."""
    from PIL import Image, ImageOps

    picture.load()
    ImageOps.exif_transpose(picture, in_place=True)  # a copy would double the memory
    if picture.mode == "CMYK":
        picture = _on_screen(picture)
    if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
        picture = _eight_bits(picture)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _on_screen(picture: "Image") -> "Image":
    """Colours of print as a screen shows them, by the profile that is in the file."""
    from PIL import ImageCms

    profile = picture.info.get("icc_profile")
    if not profile:
        return picture
    try:
        converted = ImageCms.profileToProfile(
            picture,
            ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"),
            outputMode="RGB",
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture  # a broken profile: the plain conversion
    return picture if converted is None else converted


def _eight_bits(picture: "Image") -> "Image":
    """Greys of more than eight bits: 65,535 is white, or the brightest beyond that.

    Numbers with a fraction have their whole range; Pillow would cut all at 255.
    """
    import numpy as np
    from PIL import Image

    grey = np.asarray(picture)
    levels = np.empty(grey.shape, dtype=np.uint8)
    # A few rows at a time: all of the largest as float64 would take gigabytes.
    parts = [slice(k, k + N_ROWS) for k in range(0, len(grey), N_ROWS)]

    def numbers(rows: slice) -> "NDArray[np.float64]":
        found = grey[rows].astype(float)
        return np.asarray(np.nan_to_num(found, posinf=0.0, neginf=0.0))

    darkest = min(numbers(rows).min(initial=0.0) for rows in parts)
    brightest = max(numbers(rows).max(initial=0.0) for rows in parts)
    if picture.mode == "F":
        scale = brightest - darkest
    else:
        darkest, scale = 0.0, max(65535.0, brightest)
    for rows in parts:
        shown = 255 * (numbers(rows) - darkest) / (scale or 1.0)
        levels[rows] = np.clip(shown, 0, 255).astype(np.uint8)
    return Image.fromarray(levels)
