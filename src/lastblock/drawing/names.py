"""The names of policies in figures and tables."""

from collections.abc import Sequence


def short_names(policies: Sequence[object]) -> list[str]:
    """Return the policies' classes; with parameters, and numbers, for those that share one."""
    classes = [type(policy).__name__ for policy in policies]
    found: list[str] = []
    for policy, name in zip(policies, classes, strict=True):
        label = name if classes.count(name) == 1 else str(policy)
        while label in found:
            label = f"{label} again"
        found.append(label)
    return found
