"""What reports of tests are made of."""

import base64

import lastblock as lb

HOSTILE = (
    "</script><b class=evil>$title & \"quoted\" 'text'</b><script>document.evil = 1</script>"
    r" $\bad{$ 漢字"
)
HORIZON = 300
FIRST = [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.9)]
SECOND = [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.2)]
WINDOW, MEMORY = lb.SWLBSDA(window=60), lb.LBSDALM()
POLICIES = {
    "window": WINDOW,
    "memory": MEMORY,
    "window again": WINDOW,
    "memory again": MEMORY,
}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    b"<script>document.evil = 1</script></svg>"
)
