"""What a sequential run decided, in words for tables and reports."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastblock.lab.results import Result


def decided(result: "Result") -> str:
    """Return what a sequential run decided, in a few sentences; "" for other runs."""
    plan = result.about["scenario"].get("sequential")
    if not plan or "decisions" not in plan:
        return ""
    found = [d for d in plan["decisions"] if d["better"] is not None]
    unclear = [f"{d['policy']} and {d['other']}" for d in plan["decisions"] if d["better"] is None]
    what = "" if plan["test"] == "means" else " by ranks"
    parts = [
        f"Stopped after {result.replications} of at most {plan['budget']} replications, with looks "
        f"after {', '.join(map(str, plan['looks']))}."
    ]
    if found:
        words = [
            f"{d['better']} has less regret than "
            f"{d['other'] if d['better'] == d['policy'] else d['policy']} ({d['replications']})"
            for d in found
        ]
        parts.append(f"Decided{what}: {'; '.join(words)}.")
    if unclear:
        parts.append(f"Undecided: {'; '.join(unclear)}.")
    parts.append(
        f"All decisions are right with probability {plan['confidence']:.4g}, looks included; "
        "intervals and p-values of a fixed number of replications are not valid here."
    )
    return " ".join(parts)
