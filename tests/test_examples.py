"""The examples run; downloads are stood in for."""

import importlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

import lastblock as lb
from processes import environment, run_python

CONTAINER = Path(__file__).parents[1] / "examples" / "container"
EXAMPLES = Path(__file__).parents[1] / "examples"


def make_csv(chances, seed):
    """A file like those of the dataset: an index without a name, a time, three places."""
    rng = np.random.default_rng(seed)
    lines = [",timestamp,item_id,position,click,propensity_score,user_feature_0"]
    for i in range(300):
        arm = rng.choice(3, p=chances)
        click = int(rng.random() < 0.2)
        time = f"2019-11-24 00:{i // 60:02}:{i % 60:02}.5+00:00"
        lines.append(f"{i},{time},{arm},{1 + i % 3},{click},{chances[arm]},81ce")
    return "\n".join(lines) + "\n"


def test_open_bandit(monkeypatch, tmp_path, capsys):
    """`pip download` puts a wheel into the folder that it is told, once."""
    monkeypatch.syspath_prepend(EXAMPLES)
    open_bandit, commands = importlib.import_module("open_bandit"), []
    # Two are enough, with three arms and few events: these layouts are compiled anyway.
    policies = {"LB-SDA-LM": lb.LBSDALM(), "Thompson": lb.Thompson()}
    monkeypatch.setattr(open_bandit, "POLICIES", policies)

    def run(command, check):
        commands.append(command)
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "obp-0.4.1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("obp/__init__.py", "raise SystemExit")
            for how, chances in (("random", [1 / 3] * 3), ("bts", [0.5, 0.25, 0.25])):
                name = f"obp/dataset/obd/{how}/men/men.csv"
                wheel.writestr(name, make_csv(chances, seed=len(how)))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    open_bandit.main(arguments := ["--replications", "3", "--bootstrap", "5"])
    shown = capsys.readouterr().out
    assert "300 events, 3 items, about 100 match." in shown
    for name in ("| LB-SDA-LM |", "| Thompson |", "| uniform, from Thompson's log |"):
        assert name in shown
    assert "not more than two standard errors." in shown
    files = (tmp_path / "lastblock" / "open-bandit").rglob("*.*")
    assert sorted(file.name for file in files) == ["men.csv"] * 2
    open_bandit.main(arguments)  # the files are there now
    assert capsys.readouterr().out == shown
    assert [command[-1] for command in commands] == ["obp==0.4.1"]


# The container. Docker is not at hand here, but everything that its recipe calls is.


def dockerfile():
    """The instructions of the recipe: pairs of a word and what follows it."""
    text = (CONTAINER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_the_container_copies_files_and_runs_one_worker_with_threads(tmp_path):
    """The very command of the recipe, up to the moment at which it would serve."""
    copied = [name for word, rest in dockerfile() if word == "COPY" for name in rest.split()[:-1]]
    assert copied
    assert [name for name in copied if not (CONTAINER.parents[1] / name).exists()] == []
    (command,) = [json.loads(rest) for word, rest in dockerfile() if word == "CMD"]
    assert command[0] == "gunicorn"
    assert command[command.index("-w") + 1] == "1"
    assert int(command[command.index("--threads") + 1]) > 1
    subprocess.run(
        [sys.executable, "-m", "gunicorn", "--check-config", *command[1:]],
        check=True,
        cwd=CONTAINER,
        env=environment(STORE=tmp_path / "shop.db", NUMBA_DISABLE_JIT=1),
        timeout=300,
    )
    with lb.Store(tmp_path / "shop.db") as store:
        assert store.names() == ("button",)


def test_the_container_s_service(tmp_path, monkeypatch):
    """In a process of its own, since the module opens a store when it is imported."""
    code = """
import json, shop

def get(path, query=""):
    status = []
    body = shop.app({"PATH_INFO": path, "QUERY_STRING": query}, lambda s, h: status.append(s))
    return status[0][:3], json.loads(b"".join(body))

shown = get("/show")[1]
answer = f"decision={shown['id']}&reward=1"
assert get("/answer", answer) == ("200", {"ok": True})
assert get("/answer", answer)[0] == get("/answer", "decision=x")[0] == "400"
assert get("/nothing")[0] == "404"
assert get("/summary")[1]["asked"] >= 1
"""
    monkeypatch.syspath_prepend(CONTAINER)
    for program in (("-c", code), (CONTAINER / "warm_up.py",)):
        ended = run_python(*program, STORE=tmp_path / "shop.db", NUMBA_DISABLE_JIT=1)
        assert ended.returncode == 0, ended.stderr
