"""Would a release work? Builds it, checks it, and installs it as a stranger would.

Every extra gets a clean environment of its own, and does one thing there that needs
it. Without any extra the code of the README runs.

Usage: python .ci/release_check.py [EXTRA ...]
"""

import email
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# What an extra is for, tried once; extras that are not named are imported only.
TRY = {
    "app": (  # ends with a SystemExit of 0; the embedding is the default
        "import os, numpy as np; from PIL import Image; os.mkdir('photos');"
        "draw = np.random.RandomState(0).randint;"
        "[Image.fromarray(draw(256, size=(64, 64, 3)).astype('uint8'))"
        ".save(f'photos/{k}.png') for k in range(3)];"
        "from likewise.__main__ import main;"
        "main(['new', 'photos.likewise', '--images', 'photos', '--seed', '1'])"
    ),
    "embed": "from likewise.features.texts import text_vectors as v; print(v(['a b']))",
    "images": "from likewise.features import paper; print(paper.picture_features)",
    "files": (
        "import numpy as np;"
        "m = likewise.BayesianMetric().fit(np.eye(4), [0, 0, 1, 1]);"
        "m.save('m.metric'); print(likewise.load('m.metric'))"
    ),
    "ann": "import usearch, faiss; print(faiss.__version__)",
    "dask": (
        "import numpy as np, dask.array as da; from likewise import scale;"
        "print(scale.__name__, da.from_array(np.eye(4)).sum().compute())"
    ),
    "excel": "import openpyxl; print(openpyxl.__version__)",
    "heic": "import pillow_heif; print(pillow_heif.__version__)",
    "parquet": "import pyarrow.parquet as p; print(p.__name__)",
    "bench": "from likewise.__main__ import main; main(['demo', '--help'])",
    "docs": "import mkdocs, mkdocstrings; print(mkdocs.__version__)",
}


def main(wanted):
    """Build, check, and try every extra; ends with an error at the first failure."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    wheel = next(DIST.glob("*.whl"))
    extras = [extra for extra in extras_of(wheel) if extra not in ("test", "all")]
    for extra in wanted or ["", *extras]:
        print(f"*** likewise[{extra}]" if extra else "*** likewise, nothing else")
        try_extra(wheel, extra)
    print("*** Everything installs and runs.")


def extras_of(wheel):
    """The extras that the wheel says it has."""
    with zipfile.ZipFile(wheel) as files:
        [name] = [each for each in files.namelist() if each.endswith("/METADATA")]
        assert any(each.endswith("/py.typed") for each in files.namelist())
        metadata = email.message_from_bytes(files.read(name))
    return metadata.get_all("Provides-Extra", [])


def try_extra(wheel, extra):
    """Install into a new environment, and use what was installed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "env"), with_pip=True)
        python = Path(folder, "env", "bin", "python")
        target = f"{wheel}[{extra}]" if extra else wheel
        run(python, "-m", "pip", "install", "--quiet", target)
        code = f"import likewise; {TRY.get(extra, '')}" if extra else readme()
        # -I: nothing of this tree or of the caller's paths.
        run(python, "-I", "-c", code, cwd=folder)


def readme():
    """The code of the README."""
    text = (ROOT / "README.md").read_text()
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def run(*command, cwd=ROOT):
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
