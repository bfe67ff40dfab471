"""The markers of curves as symbols of SVG, for the report's page and the dashboard."""

_DRAWN = {  # about 11 units wide, around the origin; the names are those of `styles.SHAPES`
    "circle": '<circle id="{id}" r="5"/>',
    "square": '<path id="{id}" d="M-4.5-4.5h9v9h-9z"/>',
    "up": '<path id="{id}" d="M0-5.6 5.4 4.2h-10.8z"/>',
    "down": '<path id="{id}" d="M0 5.6 5.4-4.2h-10.8z"/>',
    "diamond": '<path id="{id}" d="M0-6 6 0 0 6-6 0z"/>',
    "plus": '<path id="{id}" d="M-2-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z"/>',
    "cross": '<path id="{id}" d="M0-2.8 2.9-5.7 5.7-2.9 2.8 0 5.7 2.9 2.9 5.7 0 2.8-2.9 5.7-5.7 '
    '2.9-2.8 0-5.7-2.9-2.9-5.7z"/>',
    "star": '<path id="{id}" d="M0-6.6 1.6-2.1 6.3-2 2.5.8 3.9 5.3 0 2.6-3.9 5.3-2.5.8-6.3-2-1.6'
    '-2.1z"/>',
}


def mark_symbols() -> str:
    """Return an invisible drawing that defines all markers, as ``#mark-circle`` and so on."""
    drawn = "\n".join(shape.format(id=f"mark-{name}") for name, shape in _DRAWN.items())
    return (
        '<svg class="definitions" aria-hidden="true" width="0" height="0">\n'
        f"<defs>\n{drawn}\n</defs>\n</svg>"
    )
