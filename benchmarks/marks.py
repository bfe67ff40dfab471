"""Draw the marks of an arm: ``python -m benchmarks.marks`` writes docs/images/marks.svg."""

from pathlib import Path

from benchmarks.options import Parser
from lastblock.policies.lbsdagm import LBSDAGM

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "marks.svg"
WRITTEN, CHALLENGER, LEVELS = 150, 41, 5
LEFT, SCALE, TOP, ROW = 70, 4.4, 34, 26


def held(level: int, marks: int) -> list[int]:
    """The places that are marked on a level after so many rewards."""
    if level == 0:
        return list(range(WRITTEN - marks, WRITTEN))
    newest = (WRITTEN - 1 - (max(3, marks - 3) << level >> 1)) >> level
    return [i << level for i in range(newest - marks // 2 + 1, newest + 1) if i >= 0]


def x(place: float) -> float:
    return LEFT + SCALE * place


def main() -> None:
    marks = LBSDAGM().marks
    bottom = TOP + LEVELS * ROW
    width, height = round(x(WRITTEN) + 20), bottom + 64
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="16">The leader has had {WRITTEN} rewards; each tick is a sum that is '
        "kept.</text>",
    ]
    wanted = WRITTEN - CHALLENGER
    every = []
    for level in range(LEVELS):
        y = TOP + level * ROW
        places = held(level, marks)
        every += places
        lines.append(f'<text x="4" y="{y + 13}">level {level}</text>')
        lines.append(
            f'<path d="M{x(0):.1f} {y + 16}H{x(WRITTEN):.1f}" stroke="#ddd"/>'
            f'<path d="{"".join(f"M{x(p):.1f} {y + 4}v12" for p in places)}" stroke="#1f77b4" '
            'stroke-width="2"/>'
        )
    nearest = min(every, key=lambda place: abs(place - wanted))
    y = bottom + 10
    lines += [
        f'<rect x="{x(nearest):.1f}" y="{y}" width="{x(WRITTEN) - x(nearest):.1f}" height="14" '
        'fill="#1f77b4" opacity="0.35"/>',
        f'<path d="M{x(wanted):.1f} {TOP}V{y + 18}" stroke="#d62728" stroke-dasharray="3 3"/>',
        f'<text x="{LEFT}" y="{y + 34}">A challenger with {CHALLENGER} rewards: wanted are the '
        f"leader's last {CHALLENGER} (dashed), taken are its last {WRITTEN - nearest}, from the "
        "nearest mark on.</text>",
        "</svg>",
    ]
    PICTURE.write_text("\n".join(lines) + "\n")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    Parser("marks", __doc__, "a second").parse_args()
    main()
