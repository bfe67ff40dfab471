"""What reports of tests are made of."""

import base64

from small_runs import MEMORY, WINDOW

HOSTILE = (
    "</script><b class=evil>$title & \"quoted\" 'text'</b><script>document.evil = 1</script>"
    r" $\bad{$ 漢字"
)
POLICIES = {"window": WINDOW, "memory": MEMORY, "window again": WINDOW, "memory again": MEMORY}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    b"<script>document.evil = 1</script></svg>"
)
