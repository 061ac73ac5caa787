"""What a person leaves with: each file that a project can be turned into."""

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from likewise.app.duplicates import likely_pairs
from likewise.app.exchange import answer_rows, write_new
from likewise.app.folders import Written, fill_folders, new_folder
from likewise.app.grouping import Found, Grouping
from likewise.app.project import Project
from likewise.app.report import write_report
from likewise.errors import MissingExtraError

Row = dict[str, Any]
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

DUPLICATE_COLUMNS = ("left", "right", "p_same", "known")


def group_rows(project: Project, found: Found) -> list[Row]:
    """One row an item, group by group, the most typical items first."""
    return [
        {
            "item": project.names[item],
            "group": group.number + 1,
            "name": group.name,
            "confidence": round(float(found.confidence[item]), 4),
        }
        for group in found.groups
        for item in group.typical
    ]


def group_lists(project: Project, found: Found) -> Row:
    """The groups with their members, as JSON says it."""
    low, high = found.interval
    return {
        "n_groups": len(found.groups),
        "share_right": round(found.share_right, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "groups": [
            {
                "group": group.number + 1,
                "name": group.name,
                "size": group.size,
                "confidence": round(group.confidence, 4),
                "items": [project.names[item] for item in group.typical],
            }
            for group in found.groups
        ],
    }


def duplicate_rows(project: Project) -> list[Row]:
    """Pairs that are likely the same, the likeliest first, and what is known."""
    return [
        {
            "left": project.names[pair.left],
            "right": project.names[pair.right],
            "p_same": round(pair.p_same, 4),
            "known": pair.known,
        }
        for pair in likely_pairs(project, project.learner())
    ]


def vector_rows(project: Project) -> list[Row]:
    """The items in the learned space, where Euclidean distance is the metric."""
    Z = _learned(project)
    columns = [f"z{k + 1}" for k in range(Z.shape[1])]
    return [
        {"item": name, **dict(zip(columns, row, strict=True))}
        for name, row in zip(project.names, np.round(Z, 6).tolist(), strict=True)
    ]


def _learned(project: Project) -> Any:
    return np.asarray(project.learner().metric_.transform(project.X))


def _write_vectors(project: Project, found: Found, path: Path) -> None:
    np.savez(path, items=np.array(project.names), vectors=_learned(project))


def _write_metric(project: Project, found: Found, path: Path) -> None:
    project.learner().metric_.save(path)


def _write_zip(project: Project, found: Found, path: Path) -> None:
    """The folders of the groups in one file; pictures do not get smaller."""
    place = path.with_suffix("")
    place.mkdir()
    # Linked, so that nothing is written twice.
    fill_folders(project, found, place, is_link=True, progress=lambda jobs, n: jobs)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(place.rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(place).as_posix())


# Every file by its name: what it holds, and how it is written.
FILES: dict[str, tuple[str, Callable[[Project, Found, Path], None]]] = {
    "groups.csv": (
        "All items with their groups, for a spreadsheet.",
        lambda project, found, path: write_new(group_rows(project, found), path),
    ),
    "groups.json": (
        "The groups with their members, for programs.",
        lambda project, found, path: write_new(group_lists(project, found), path),
    ),
    "groups.zip": ("A folder a group, with the files in it.", _write_zip),
    "duplicates.csv": (
        "Pairs that are likely the same, the likeliest first.",
        lambda project, found, path: write_new(
            duplicate_rows(project) or [dict.fromkeys(DUPLICATE_COLUMNS)], path
        ),
    ),
    "answers.csv": (
        "Every answer that counts, and who gave it.",
        lambda project, found, path: write_new(answer_rows(project), path),
    ),
    "vectors.csv": (
        "The items in the learned space: Euclidean distance is the metric there.",
        lambda project, found, path: write_new(vector_rows(project), path),
    ),
    "vectors.npz": ("The same for numpy: items and vectors.", _write_vectors),
    "learned.metric": (
        "The metric itself, for likewise.load() on new items.",
        _write_metric,
    ),
    "report.html": (
        "One page with all of it, to be opened without a network.",
        lambda project, found, path: write_report(project, found, path),
    ),
}


def write_results(
    project: Project, folder: Path, *, is_link: bool, progress: Progress
) -> tuple[Written, list[str]]:
    """Write everything into a new folder; gives what there is no library for as well.

    The groups are folders of files here, not packed.
    """
    found = Grouping(project).found()
    left_out = []
    with new_folder(folder) as place:
        for name, (_, write) in FILES.items():
            if name == "groups.zip":
                continue
            try:
                write(project, found, place / name)
            except MissingExtraError as error:
                left_out.append(f"{name}: {error}")
        (place / "groups").mkdir()
        written = fill_folders(project, found, place / "groups", is_link, progress)
    return written, left_out
