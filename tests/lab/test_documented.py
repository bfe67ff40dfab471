"""The pages name every column of the Parquet files and every method of a result."""

import re
from pathlib import Path

import pyarrow.parquet as pq

from lastblock.lab.results import Result
from made_results import made_result

DOCS = Path(__file__).parents[2] / "docs"


def test_columns(tmp_path):
    text = (DOCS / "reference" / "file-formats.md").read_text()
    section = text.partition("## Results of a scenario")[2].partition("\n## ")[0]
    found, file = {}, None
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 4 or not cells[2] or cells[1] == "column" or set(cells[0]) == {"-"}:
            continue
        file = re.match(r"`(.*)`", cells[0])[1] if cells[0] else file
        for column in re.findall(r"`(\w+)`", cells[1]):
            found.setdefault(file, {})[column] = cells[2]
    made_result({"A": [1.0, 2.0]}).save(tmp_path)
    real = {}
    for path in tmp_path.glob("*.parquet"):
        schema = pq.read_schema(path)
        types = {field.name: str(field.type).removeprefix("large_") for field in schema}
        assert types.pop("policy").startswith("dictionary<values=string")
        real[path.name] = types
    assert found == real


def test_methods():
    text = (DOCS / "how-to" / "tables-and-figures.md").read_text()
    section = text.partition("## What a result can do")[2].partition("\n## ")[0]
    named = set(re.findall(r"[`\s](\w+)[`(]", section))
    public = {name for name in vars(Result) if not name.startswith("_")}
    assert public | {*Result.__dataclass_fields__} <= named
