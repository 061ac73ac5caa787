"""Hostile and broken files: each is one sentence, none waits or fills the memory."""

import io
import os
import struct
import sys
import zlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from likewise.errors import InputError
from likewise.features import reading
from likewise.features.reading import open_picture
from tests import memory


def encoded(form, size=(80, 60), mode="RGB", **options):
    noise = np.random.RandomState(0).randint(0, 256, (size[1], size[0], 3))
    buffer = io.BytesIO()
    picture = Image.fromarray(noise.astype(np.uint8)).convert(mode)
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def bomb(width, height):
    """A PNG of few bytes that claims so many pixels."""

    def chunk(kind, data):
        checked = kind + data
        return (
            struct.pack(">I", len(data))
            + checked
            + struct.pack(">I", zlib.crc32(checked))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", body)
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM"])
def test_every_format_is_read(form):
    """In RGB, at its size."""
    picture = reading.open_picture(encoded(form))

    assert (picture.mode, picture.size) == ("RGB", (80, 60))


@pytest.mark.parametrize(
    ("width", "height"), [(30_000, 30_000), (12_000, 9_000), (2**31 - 1, 2**31 - 1)]
)
def test_a_bomb_is_refused_before_it_is_unpacked(width, height):
    """By the size that its header claims."""
    with pytest.raises(InputError, match="too many pixels"):
        reading.open_picture(bomb(width, height))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_cut_picture_is_one_sentence(form, share):
    """Wherever it was cut."""
    data = encoded(form)

    with pytest.raises(InputError, match="cannot be read|not a picture, or damaged"):
        reading.open_picture(data[: int(share * len(data))])


def test_a_program_for_printers_is_not_run():
    """Pillow would hand PostScript to another program; here it is no picture."""
    data = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n"

    with pytest.raises(InputError, match="not a picture, or damaged"):
        reading.open_picture(data)


def test_flipped_bytes_never_escape(rng):
    """Whatever a damaged file makes Pillow say, it is a picture or an InputError."""
    for form in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"):
        whole = np.frombuffer(encoded(form), np.uint8)
        for _ in range(40):
            data = whole.copy()
            places = rng.randint(0, min(len(data), 400), size=4)
            data[places] = rng.randint(0, 256, size=4)
            try:
                assert reading.open_picture(data.tobytes()).mode == "RGB"
            except InputError as error:
                assert str(error)


def test_transparency_is_white():
    """What is not there has the colour of paper."""
    buffer = io.BytesIO()
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(buffer, "PNG")

    assert reading.open_picture(buffer.getvalue()).getpixel((0, 0)) == (255,) * 3


def test_a_pipe_is_not_waited_for(tmp_path):
    """Opening it as a file would block for ever."""
    os.mkfifo(tmp_path / "pipe.png")

    with pytest.raises(InputError, match="not a regular file"):
        reading.read_bytes(tmp_path / "pipe.png")


def test_a_device_is_not_read(tmp_path):
    """Nor through a link, be it endless."""
    (tmp_path / "zero.png").symlink_to("/dev/zero")

    with pytest.raises(InputError, match="not a regular file"):
        reading.read_bytes(tmp_path / "zero.png")


def test_a_huge_file_is_refused_by_its_size(tmp_path):
    """Without reading it."""
    with open(tmp_path / "huge.png", "wb") as file:
        file.truncate(reading.MAX_BYTES + 1)

    with pytest.raises(InputError, match="larger than 256 MB"):
        reading.read_bytes(tmp_path / "huge.png")


def test_a_missing_file_says_why(tmp_path):
    """In the system's words."""
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere")

    with pytest.raises(InputError, match="cannot be read: No such file"):
        reading.read_bytes(tmp_path / "dangling.png")


def test_a_photograph_of_a_camera_is_read_at_a_part_of_its_size():
    """Enough for what is made of it, in a fraction of the time."""
    picture = reading.open_picture(encoded("JPEG", size=(4400, 4400)))

    assert picture.size == (1100, 1100)


def saved(picture, form, **options):
    """The bytes of a picture."""
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_shown_by_their_upper_eight(form):
    """A ramp from black to white stays one; Pillow alone would make all of it white."""
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(2, axis=0)

    opened = np.asarray(open_picture(saved(Image.fromarray(ramp), form)))

    assert_array_equal(opened[0, :, 0], np.arange(256))
    assert_array_equal(opened[..., 0], opened[..., 2])


def test_fractions_have_their_whole_range():
    """Floating point: the darkest is black, the brightest white."""
    values = np.array([[0.0, 0.5, 1.0]], dtype=np.float32)

    opened = np.asarray(open_picture(saved(Image.fromarray(values), "TIFF")))

    assert opened[0, :, 0].tolist() == [0, 127, 255]


def test_colours_of_print_are_shown_as_on_paper():
    """CMYK in a JPEG: cyan is cyan, black is black, not the reverse."""
    for colour, expected in (
        ((255, 0, 0, 0), (0, 255, 255)),
        ((0, 0, 0, 255), (0, 0, 0)),
        ((0, 0, 0, 0), (255, 255, 255)),
    ):
        data = saved(Image.new("CMYK", (16, 16), colour), "JPEG", quality=95)

        assert_allclose(np.asarray(open_picture(data))[8, 8], expected, atol=6)


@pytest.mark.parametrize(("form", "name"), [("HEIF", "heic"), ("AVIF", "avif")])
def test_pictures_of_phones_are_read(form, name):
    """HEIC and AVIF give the colours that went in."""
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    red = Image.new("RGB", (64, 48), (200, 30, 40))

    opened = open_picture(saved(red, form))

    assert opened.size == (64, 48)
    assert_allclose(np.asarray(opened)[20, 20], (200, 30, 40), atol=8)


def test_without_their_library_pictures_of_phones_are_named(monkeypatch):
    """They are skipped with what to install, not taken for broken."""
    monkeypatch.setitem(sys.modules, "pillow_heif", None)

    with pytest.raises(InputError, match=r"pip install 'likewise\[heic\]'"):
        open_picture(b"\0\0\0\x18ftypheic" + bytes(100))


def blank_png(width, height):
    """A transparent picture of any size, in a few bytes a row."""

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    packer, rows = zlib.compressobj(1), []
    for _ in range(height):
        rows.append(packer.compress(bytes(1 + 4 * width)))
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    pixels = b"".join(rows) + packer.flush()
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def largest(form):
    """The largest picture that is read, in a few bytes."""
    side = int(reading.MAX_DECODED**0.5)
    if form == "transparent":
        return blank_png(side, side)
    if form == "greys of 16 bits":
        return saved(Image.new("I;16", (side, side)), "PNG")
    return saved(Image.new("RGB", (side, side)), form)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["transparent", "greys of 16 bits", "WEBP", "TIFF"])
def test_no_picture_takes_a_gigabyte(tmp_path, form):
    """The largest that is read, in what its kind needs most; one more is refused."""
    side = int(reading.MAX_DECODED**0.5)
    (tmp_path / "largest.png").write_bytes(largest(form))
    program = (
        "import sys\n"
        "from likewise.features.reading import open_picture, read_bytes\n"
        "print(open_picture(read_bytes(sys.argv[1])).size[0])\n"
    )

    width, kilobytes = memory.run(program, tmp_path / "largest.png")

    assert width == side
    assert kilobytes < 2**20
    with pytest.raises(InputError, match="too many pixels"):
        reading.open_picture(blank_png(side, side + 4))
