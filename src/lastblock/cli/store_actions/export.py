"""``lastblock store export``: the log of a bandit as a file."""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.cli.store_actions.places import add_bandit, add_json, add_place
from lastblock.support import files
from lastblock.support.parallel import progress_bar

if TYPE_CHECKING:
    from lastblock.store.reading import Reading

STANDARD_OUTPUT = "-"


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "export",
        help="write the log of a bandit: Parquet, CSV or JSON lines",
        description="Write the log of a bandit to a file, in the format that its suffix names: "
        ".parquet, .csv or .jsonl. lb.Replay reads all of them. Nothing in the store is changed, "
        "and others may go on writing.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_bandit(parser)
    file = parser.add_argument(
        "file", metavar="FILE", help="the file to write; - for standard output (CSV, JSON lines)"
    )
    offer(file, files=FILE)
    parser.add_argument(
        "--format",
        choices=("parquet", "csv", "jsonl"),
        metavar="FORMAT",
        help="parquet, csv or jsonl (default: by the suffix of FILE; jsonl for -)",
    )
    parser.add_argument(
        "--what",
        choices=("decisions", "events"),
        default="decisions",
        metavar="WHAT",
        help="decisions that have their reward, or all events (default: decisions)",
    )
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Write the log, and print how many rows it has."""
    from lastblock.store.export_formats import format_of  # noqa: PLC0415  # slow to import
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    to_output = options.file == STANDARD_OUTPUT
    given = options.format or ("jsonl" if to_output else None)
    try:
        format = format_of(Path(options.file), given)
    except ValueError as error:
        raise UserError(str(error).replace("format=", "--format")) from None
    if to_output and format == "parquet":
        raise UserError("Parquet cannot be written to standard output; give a file, or csv, jsonl")
    if to_output and options.json:
        raise UserError("--json prints on standard output, as - does; give a file")
    with reading(options.store) as store:
        if to_output:
            rows = _write(store, options, format, cast("BinaryIO", sys.stdout.buffer))
            return 0
        with files.replacing(Path(options.file)) as file:
            rows = _write(store, options, format, file)
    if options.json:
        told = {"bandit": options.bandit, "what": options.what, "file": options.file, "rows": rows}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        print(f"{options.file}: {rows:,} {options.what} of {options.bandit}")
    return 0


def _write(store: "Reading", options: argparse.Namespace, format: Any, file: BinaryIO) -> int:
    """Write the rows with a progress bar, and return how many there are."""
    from lastblock.store.export_formats import writer_of  # noqa: PLC0415  # slow to import
    from lastblock.store.recovery import damage_explained  # noqa: PLC0415  # slow to import

    log = store.log(options.bandit, options.what)
    make, written = writer_of(format), 0
    with (
        closing(make(file, log.columns)) as writer,
        progress_bar(None, None, unit="row", name="exporting") as bar,
        damage_explained(store.view, options.bandit),
    ):
        for rows in log.parts:
            writer.write(rows)
            written += len(rows)
            bar.update(len(rows))
    return written
