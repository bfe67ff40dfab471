"""Samplers for kernels: each draws from a random stream or from one random word."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import kernel, routine
from lastblock.kernels.streams import Stream, expand, next_word, to_open_unit, uniform

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def normal(stream: Stream) -> float:
    """A standard normal (the ziggurat of Marsaglia & Tsang, 2000, in the form of Doornik, 2005)."""
    word = next_word(stream)
    z, inside = _in_layer(word)
    return z if inside else _off_layer(word, stream)


@kernel
def normal_of(word: np.uint64, scratch: Stream) -> float:
    """A standard normal from one draw; the one in a hundred that needs more expands it."""
    z, inside = _in_layer(word)
    if inside:
        return z
    expand(scratch, word)
    return _off_layer(word, scratch)


@kernel
def _in_layer(word: np.uint64) -> tuple[float, bool]:
    layer = word & _LAST_LAYER
    u = 2.0 * to_open_unit(word) - 1.0
    return u * _EDGES[layer], abs(u) < _INSIDE[layer]


@routine
def _off_layer(word: np.uint64, stream: Stream) -> float:
    """Finish a draw that did not fall well inside its layer, or draw again until one does."""
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
    """A standard exponential."""
    return -math.log(to_open_unit(next_word(stream)))


@routine
def gamma(stream: Stream, shape: float) -> float:
    """A standard gamma variate (Marsaglia & Tsang, 2000); NaN for a shape that is none."""
    if not shape > 0.0:  # from a damaged record: the loop below would never end
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
            # The squeeze decides nearly always, without a logarithm.
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (
                1.0 - v + math.log(v)
            ):
                value = d * v
    return value * boost


@routine
def beta(stream: Stream, a: float, b: float) -> float:
    """A Beta variate, as a share of two gammas."""
    x = gamma(stream, a)
    y = gamma(stream, b)
    if x + y > 0.0:
        return x / (x + y)
    # Both underflowed: the law is then two atoms at the ends but for 1e-300.
    return 1.0 if uniform(stream) * (a + b) < a else 0.0


@kernel
def log_factorial(k: float) -> float:
    """The logarithm of k!, to 1e-12, by Stirling's series.

    The C library's lgamma writes to a global variable, over which threads wait for each other.
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
    """Inversion for small means, transformed rejection (Hörmann, 1993, PTRS) for large ones."""
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
    """The standard normal quantile function (Wichura, 1988, algorithm AS 241), to 1e-16."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _ratio(r, _CENTRE)
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p))
    tail = _ratio(r - 1.6, _MIDDLE) if r <= 5.0 else _ratio(r - 5.0, _FAR)
    return -tail if q < 0.0 else tail


@kernel
def _ratio(x: float, c: Any) -> float:
    """Two polynomials of degree 7, lowest coefficient first; the second one starts with 1."""
    top = ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x
    low = (
        (((((c[14] * x + c[13]) * x + c[12]) * x + c[11]) * x + c[10]) * x + c[9]) * x + c[8]
    ) * x
    return float((top + c[0]) / (low + 1.0))


def _ziggurat(layers: int, tail: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The right edges of layers of equal area under exp(−x²/2), and the share below the next one.

    The lowest layer holds the tail beyond `tail`; its edge is where a box of its area would end.
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


_TAIL = 3.6541528853610088  # for 256 layers: makes the topmost one end at the mode

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
    """The nearest number in [0, 1]."""
    return min(max(reward, 0.0), 1.0)


@kernel
def coin(stream: Stream, reward: float) -> float:
    """1 with probability `reward`, else 0 (Agrawal & Goyal, 2012); 0 and 1 cost no draw.

    The mean of bounded rewards does not change, and they become Bernoulli rewards.
    """
    if reward <= 0.0:
        return 0.0
    if reward >= 1.0:
        return 1.0
    return 1.0 if uniform(stream) < reward else 0.0
