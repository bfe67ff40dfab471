"""Export a bandit's log as Parquet: decisions with their rewards, or all events."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from lastblock.engine.events import ASK, FORGET, KINDS, TELL
from lastblock.live.decisions import Generations
from lastblock.live.labels import Label
from lastblock.store.recovery import PART, check_kept, damage_explained
from lastblock.store.storage import Row, View
from lastblock.support import files

What: TypeAlias = Literal["decisions", "events"]
DECISIONS: Final = "decisions"
EVENTS: Final = "events"


def export(view: View, name: str, number: int, path: str | os.PathLike[str], what: What) -> int:
    """Write the log of bandit `number`, and return how many rows it has."""
    try:
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and not always installed
        import pyarrow.parquet as pq  # noqa: PLC0415  # for the same reasons
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'lastblock[lab]'") from None
    if what not in (DECISIONS, EVENTS):
        raise ValueError(f"what={what!r} must be {DECISIONS!r} or {EVENTS!r}")
    with damage_explained(view, name):
        labels = view.arms(number)
        ids = Generations(view.generations(number))
    of_arms = pa.int64() if all(_is_small(label) for label in labels) else pa.string()
    time = pa.timestamp("us", tz="UTC")
    columns: dict[str, Any] = {
        DECISIONS: {
            "decision": pa.int64(),
            "arm": of_arms,
            "probability": pa.float64(),
            "reward": pa.float64(),
            "asked": time,
            "told": time,
        },
        EVENTS: {
            "event": pa.int64(),
            "time": time,
            "kind": pa.string(),
            "decision": pa.int64(),
            "arm": of_arms,
            "reward": pa.float64(),
            "probability": pa.float64(),
            "extra": pa.string(),
        },
    }[what]
    schema = pa.schema(list(columns.items()))
    parts = _decisions(view, number) if what == DECISIONS else _events(view, number)
    arm, decision = list(columns).index("arm"), list(columns).index("decision")
    words = _words(labels)
    written = 0
    with (
        files.replacing(Path(path)) as file,
        pq.ParquetWriter(file, schema) as writer,
        damage_explained(view, name),
    ):
        for part in parts:
            values = [list(column) for column in zip(*part, strict=True)]
            values[arm] = [_word(words, n) for n in values[arm]]
            values[decision] = [n if n is None else ids.id_of(n) for n in values[decision]]
            arrays = [pa.array(v, t) for v, t in zip(values, columns.values(), strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))
            written += len(part)
    return written


def _is_small(label: Label) -> bool:
    return isinstance(label, int) and -(2**63) <= label < 2**63


def _words(labels: Sequence[Label]) -> list[Any]:
    """Return the labels as a column holds them.

    If all labels are numbers, or all are text, they stay so; if mixed, each becomes JSON.
    """
    if all(map(_is_small, labels)) or all(isinstance(label, str) for label in labels):
        return list(labels)
    return [json.dumps(label, ensure_ascii=False) for label in labels]


def _word(words: Sequence[Any], arm: int | None) -> Any:
    if arm is not None and not (isinstance(arm, int) and 0 <= arm < len(words)):
        raise LookupError(f"arm {arm} has no label")
    return None if arm is None else words[arm]


def _parts(view: View, number: int, after: int) -> Iterator[list[Row]]:
    """Yield the events after event `after`, in parts, up to the last one at the start."""
    end, are_kept = view.last(number), view.keeps(number)
    while after < end:
        rows = view.rows(number, after, min(PART, end - after))
        if not rows or rows[-1][1] != after + len(rows):
            check_kept(view, number, are_kept)
            raise LookupError(f"some events after event {after} are missing")
        if are_kept:
            view.move_on()
        yield rows
        after += len(rows)


def _events(view: View, number: int) -> Iterator[list[tuple[Any, ...]]]:
    for rows in _parts(view, number, view.snapshot(number, first=True).event):
        events = []
        for _, event, time, kind, decision, arm, value in rows:
            values = (value if kind == TELL else None, value if kind == ASK else None)
            extra = value if kind > FORGET else None
            if kind not in range(len(KINDS)):
                raise LookupError(f"event {event} has the unknown kind {kind}")
            events.append((event, time, KINDS[kind], decision, arm, *values, extra))
        yield events


def _decisions(view: View, number: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the decisions that have their reward, in the order of the rewards.

    Memory holds only the decisions that wait for theirs.
    """
    first = view.snapshot(number, first=True)
    out: dict[Any, tuple[Any, ...]] = {
        id: (arm, chance, None) for id, arm, chance in view.pending(number, first=True)
    }
    for rows in _parts(view, number, first.event):
        told = []
        for _, _, time, kind, decision, arm, value in rows:
            if kind == ASK:
                out[decision] = arm, value, time
            elif decision is not None:
                if decision not in out:
                    raise LookupError(f"an event answers decision {decision}, which was not out")
                _, chance, asked = out.pop(decision)
                if kind == TELL:
                    told.append((decision, arm, chance, value, asked, time))
        if told:
            yield told
