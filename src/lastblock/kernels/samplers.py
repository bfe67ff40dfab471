"""Samplers for kernels: each draws from a random stream or from a single random word."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import kernel, routine
from lastblock.kernels.streams import Stream, expand, next_word, to_open_unit, uniform

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def normal(stream: Stream) -> float:
    """Draw a standard normal (ziggurat of Marsaglia & Tsang, 2000, as given by Doornik, 2005)."""
    word = next_word(stream)
    z, inside = _in_layer(word)
    return z if inside else _off_layer(word, stream)


@kernel
def normal_of(word: np.uint64, scratch: Stream) -> float:
    """Return a standard normal that depends on `word` alone.

    About one word in a hundred does not suffice; it then seeds `scratch`, which gives the others.
    """
    z, inside = _in_layer(word)
    if inside:
        return z
    expand(scratch, word)
    return _off_layer(word, scratch)


@kernel
def _in_layer(word: np.uint64) -> tuple[float, bool]:
    """Return the ziggurat's candidate, and whether it lies inside its layer and is accepted."""
    layer = word & _LAST_LAYER
    u = 2.0 * to_open_unit(word) - 1.0
    return u * _EDGES[layer], abs(u) < _INSIDE[layer]


@routine
def _off_layer(word: np.uint64, stream: Stream) -> float:
    """Accept or reject a candidate that is not inside its layer; after a rejection draw again."""
    while True:
        layer = word & _LAST_LAYER
        u = 2.0 * to_open_unit(word) - 1.0
        z = u * _EDGES[layer]
        if abs(u) < _INSIDE[layer]:
            break
        if layer == 0:
            beyond, height = 1.0, 0.0
            while 2.0 * height <= beyond * beyond:
                beyond = exponential(stream) / _TAIL
                height = exponential(stream)
            z = math.copysign(_TAIL + beyond, u)
            break
        outer = math.exp(0.5 * (z * z - _EDGES[layer] ** 2))
        inner = math.exp(0.5 * (z * z - _EDGES[layer + np.uint64(1)] ** 2))
        if inner + uniform(stream) * (outer - inner) > 1.0:
            word = next_word(stream)
        else:
            break
    return float(z)


@kernel
def exponential(stream: Stream) -> float:
    """Draw a standard exponential."""
    return -math.log(to_open_unit(next_word(stream)))


@routine
def gamma(stream: Stream, shape: float) -> float:
    """Draw a standard gamma variate (Marsaglia & Tsang, 2000); NaN if `shape` is not positive."""
    if not shape > 0.0:  # possible in a damaged record; the loop below would never end
        return math.nan
    boost = 1.0
    if shape < 1.0:
        boost = to_open_unit(next_word(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = -1.0
    while value < 0.0:
        x = normal(stream)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = to_open_unit(next_word(stream))
            # The first condition nearly always decides, without a logarithm.
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (
                1.0 - v + math.log(v)
            ):
                value = d * v
    return value * boost


@routine
def beta(stream: Stream, a: float, b: float) -> float:
    """Draw a Beta(a, b) variate: X / (X + Y) for gamma variates X and Y of shapes a and b."""
    x = gamma(stream, a)
    y = gamma(stream, b)
    if x + y > 0.0:
        return x / (x + y)
    # Both underflowed: a and b are so small that, up to 1e-300, all mass lies at 0 and at 1.
    return 1.0 if uniform(stream) * (a + b) < a else 0.0


@kernel
def log_factorial(k: float) -> float:
    """Return log k!, exact to 1e-12, by Stirling's series.

    The C library's lgamma writes to a global variable, which makes threads wait for each other.
    """
    x = k + 1.0
    shift = 1.0
    while x < 12.0:
        shift *= x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))
    return (x - 0.5) * math.log(x) - x + _HALF_LOG_2PI + series / x - math.log(shift)


@routine
def poisson(stream: Stream, mean: float) -> float:
    """Draw a Poisson variate.

    By inversion for small means and by transformed rejection (Hörmann, 1993, PTRS) for large ones.
    """
    if mean < 10.0:
        u = uniform(stream)
        count = 0.0
        term = math.exp(-mean)
        while u >= term and count < 200.0:
            u -= term
            count += 1.0
            term *= mean / count
        return count
    root = math.sqrt(mean)
    log_mean = math.log(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    count = -1.0
    while count < 0.0:
        u = uniform(stream) - 0.5
        v = to_open_unit(next_word(stream))
        us = 0.5 - abs(u)
        if us > 0.0:
            k = math.floor((2.0 * a / us + b) * u + mean + 0.43)
            quick = us >= 0.07 and v <= v_r
            hopeless = k < 0.0 or (us < 0.013 and v > us)
            if quick or (
                not hopeless
                and math.log(v) + log_inverse_alpha - math.log(a / (us * us) + b)
                <= k * log_mean - mean - log_factorial(k)
            ):
                count = k
    return count


@routine
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of `p` to 1e-16 (Wichura, 1988, algorithm AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _ratio(r, _CENTRE)
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p))
    tail = _ratio(r - 1.6, _MIDDLE) if r <= 5.0 else _ratio(r - 5.0, _FAR)
    return -tail if q < 0.0 else tail


@kernel
def _ratio(x: float, c: Any) -> float:
    """Return the quotient of two polynomials of degree 7 at `x`.

    `c` has the coefficients of both, the lowest degree first, without the constant 1 of the second.
    """
    top = ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x
    low = (
        (((((c[14] * x + c[13]) * x + c[12]) * x + c[11]) * x + c[10]) * x + c[9]) * x + c[8]
    ) * x
    return float((top + c[0]) / (low + 1.0))


def _ziggurat(layers: int, tail: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the tables of the ziggurat: layers of equal area that cover exp(−x²/2), x ≥ 0.

    The first table has the right edges of the layers, and the second the share of each layer that
    surely lies below the curve. The lowest layer contains the tail beyond `tail`; its edge in the
    table is that of a rectangle with the same area and height.
    """
    area = tail * math.exp(-0.5 * tail**2) + math.sqrt(math.pi / 2) * math.erfc(tail / math.sqrt(2))
    edges = np.zeros(layers + 1)
    edges[0] = area * math.exp(0.5 * tail**2)
    edges[1] = tail
    for i in range(2, layers):
        edges[i] = math.sqrt(
            -2.0 * math.log(area / edges[i - 1] + math.exp(-0.5 * edges[i - 1] ** 2))
        )
    return edges, edges[1:] / edges[:-1]


_TAIL = 3.6541528853610088  # with it the topmost of 256 layers ends at the mode

_EDGES, _INSIDE = _ziggurat(256, _TAIL)

_LAST_LAYER = np.uint64(255)

# fmt: off
_CENTRE = (
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3, 4.2313330701600911252e1,
    6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
    3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
)

_MIDDLE = (
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4, 2.05319162663775882187e0,
    1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
    1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
)

_FAR = (
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7, 5.99832206555887937690e-1,
    1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
    1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
)


@kernel
def clipped(reward: float) -> float:
    """Return the number in [0, 1] nearest to `reward`."""
    return min(max(reward, 0.0), 1.0)


@kernel
def coin(stream: Stream, reward: float) -> float:
    """Return 1 with probability `reward` and 0 otherwise (Agrawal & Goyal, 2012).

    This turns rewards in [0, 1] into Bernoulli rewards with the same mean. No random word is used
    when `reward` is 0 or 1.
    """
    if reward <= 0.0:
        return 0.0
    if reward >= 1.0:
        return 1.0
    return 1.0 if uniform(stream) < reward else 0.0
