"""What a person leaves with: the groups as rows, the likely duplicates."""

from typing import Any

from likewise.app.grouping import Found
from likewise.app.project import Project

Row = dict[str, Any]


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
