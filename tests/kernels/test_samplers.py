"""Random streams never change silently, and the samplers have the right laws."""

import itertools
import math

import numba
import numpy as np
import pytest
from scipy import special, stats

from lastblock.kernels import samplers, streams
from lastblock.kernels.jit import compiled
from lastblock.kernels.streams import ENVIRONMENT, POLICY
from oracle.stream import WORD, Stream

DRAWS = 20_000
# Seeds are fixed, so a test that passes always passes. A right sampler would pass this level with
# all but one in a thousand seeds; a wrong one falls far below it.
LEVEL = 1e-3


class Compiled:
    """A module whose kernels are compiled when Python calls them."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        value = getattr(self._module, name)
        return compiled(value) if hasattr(value, "_numba_type_") else value


drawing, streaming = Compiled(samplers), Compiled(streams)


def stream_of(seed=1, replication=0, role=POLICY):
    stream = np.empty(4, np.uint64)
    streaming.seed_stream(stream, streaming.key_of(seed), replication, role)
    return stream


def take(stream, n):
    return [int(streaming.next_word(stream)) for _ in range(n)]


def test_published_words_of_xoshiro256plusplus():
    # The test vector of the authors' C code, state 1 2 3 4.
    published = [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]
    assert take(np.array([1, 2, 3, 4], np.uint64), 10) == published
    twin = Stream(0)
    twin.state = [1, 2, 3, 4]
    assert [twin.word() for _ in published] == published


@pytest.mark.parametrize("seed", [0, 42, [1, 2, 3], 2**100])
@pytest.mark.parametrize("replication", [0, 1, 10**6, 2**62])
@pytest.mark.parametrize("role", [POLICY, ENVIRONMENT])
def test_streams_are_those_of_the_oracle(seed, replication, role):
    stream, twin = stream_of(seed, replication, role), Stream(seed, replication, role)
    assert stream.tolist() == twin.state
    assert take(stream, 100) == [twin.word() for _ in range(100)]
    for n in range(1, 100):
        assert streaming.uniform(stream) == twin.uniform()
        assert streaming.below(stream, n) == twin.below(n)


def test_streams_are_for_ever():
    # Results that users have saved depend on these words: they must never change.
    assert take(stream_of(42, 0, POLICY), 3) == [
        4503185477405058184,
        12495050876130061955,
        9202924038951126424,
    ]
    assert take(stream_of(42, 7, ENVIRONMENT), 3) == [
        41570296359781863,
        16353657183918047931,
        14313912760075348515,
    ]
    stream = np.empty(4, np.uint64)
    streaming.expand(stream, np.uint64(42))
    assert stream.tolist() == [
        13679457532755275413,
        2949826092126892291,
        5139283748462763858,
        6349198060258255764,
    ]


def test_every_seed_replication_and_role_has_its_own_stream():
    cases = itertools.product((0, 1, 2), range(50), (POLICY, ENVIRONMENT))
    streams = [tuple(stream_of(*case).tolist()) for case in cases]
    assert len(set(streams)) == len(streams) == 300
    words = {word for stream in streams for word in stream}
    assert len(words) == 4 * len(streams)


def test_a_seed_sequence_is_a_seed():
    assert (streaming.key_of(np.random.SeedSequence(5)) == streaming.key_of(5)).all()
    assert (streaming.key_of(None) != streaming.key_of(None)).any()


@pytest.mark.parametrize("seed", [-1, 1.5, "dice", [1, -2], object()])
def test_impossible_seeds(seed):
    with pytest.raises(ValueError, match=r"seed=.*cannot seed a random stream"):
        streaming.key_of(seed)


def test_units_keep_off_their_ends():
    largest = np.uint64(WORD - 1)
    assert streaming.to_unit(np.uint64(0)) == 0.0
    assert streaming.to_unit(largest) == 1.0 - 2.0**-53
    assert 0.0 < streaming.to_open_unit(np.uint64(0)) < 2.0**-50
    assert streaming.to_open_unit(largest) < 1.0


def test_uniform_has_the_right_law():
    stream = stream_of(3)
    draws = np.array([streaming.uniform(stream) for _ in range(DRAWS)])
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert stats.kstest(draws, "uniform").pvalue > LEVEL


@pytest.mark.parametrize("n", [1, 2, 3, 10, 37])
def test_below_is_uniform(n):
    stream = stream_of(n)
    draws = np.array([streaming.below(stream, n) for _ in range(DRAWS)])
    counts = np.bincount(draws)
    assert counts.size == n
    assert n == 1 or stats.chisquare(counts).pvalue > LEVEL


def test_below_never_reaches_its_bound():
    for n in (1, 3, 10, 2**31 - 1, 2**53 - 1):
        assert int(streaming.to_unit(np.uint64(WORD - 1)) * n) == n - 1


CONTINUOUS = {
    "normal": (drawing.normal, stats.norm()),
    "exponential": (drawing.exponential, stats.expon()),
    "gamma .3": (lambda s: drawing.gamma(s, 0.3), stats.gamma(0.3)),
    "gamma 1": (lambda s: drawing.gamma(s, 1.0), stats.gamma(1.0)),
    "gamma 7.5": (lambda s: drawing.gamma(s, 7.5), stats.gamma(7.5)),
    "beta .5 .5": (lambda s: drawing.beta(s, 0.5, 0.5), stats.beta(0.5, 0.5)),
    "beta 2 5": (lambda s: drawing.beta(s, 2.0, 5.0), stats.beta(2.0, 5.0)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_samplers(name):
    sampler, law = CONTINUOUS[name]
    stream = stream_of(11)
    draws = np.array([sampler(stream) for _ in range(DRAWS)])
    assert stats.kstest(draws, law.cdf).pvalue > LEVEL


def test_a_normal_from_one_word():
    stream, scratch = stream_of(12), np.zeros(4, np.uint64)
    words = [np.uint64(word) for word in take(stream, DRAWS)]
    draws = np.array([drawing.normal_of(word, scratch) for word in words])
    assert stats.kstest(draws, "norm").pvalue > LEVEL
    # The word alone decides, whatever the scratch holds.
    scratch[:] = 99
    again = [drawing.normal_of(word, scratch) for word in words[:1000]]
    assert again == draws[:1000].tolist()


@numba.njit
def count_normals(stream, edges, counts, n):
    for _ in range(n):
        counts[np.searchsorted(edges, samplers.normal(stream))] += 1


def test_normal_tails():
    # The ziggurat draws its tail, beyond 3.654, and its edges in another way than the rest.
    edges = np.array([-4.5, -4.0, -3.7, -3.65, -3.0, -1.0, 0.0, 1.0, 3.0, 3.65, 3.7, 4.0, 4.5])
    counts = np.zeros(edges.size + 1, np.int64)
    n = 5_000_000  # so that at least 17 are expected in each bin
    count_normals(stream_of(13), edges, counts, n)
    shares = np.diff(stats.norm.cdf(np.concatenate([[-np.inf], edges, [np.inf]])))
    assert stats.chisquare(counts, n * shares).pvalue > LEVEL


def test_a_beta_whose_gammas_underflow_sits_at_the_ends():
    stream = stream_of(14)
    draws = np.array([drawing.beta(stream, 1e-5, 3e-5) for _ in range(4000)])
    assert np.isfinite(draws).all()
    # A share of 1/4 near one; its standard error is √(0.25 · 0.75 / 4000) = 0.007.
    assert abs((draws > 0.5).mean() - 0.25) < 4 * 0.007


@pytest.mark.parametrize("mean", [0.7, 9.9, 10.0, 50.0, 1e4])
def test_poisson(mean):
    stream = stream_of(15)
    draws = np.array([drawing.poisson(stream, mean) for _ in range(DRAWS)])
    law = stats.poisson(mean)
    # Bins of about a fortieth each; the approximation wants ten expected even in the last.
    edges = np.unique(law.ppf(np.linspace(0.0, 1.0, 41)[1:-1]))
    edges = edges[law.sf(edges) * DRAWS > 10]
    counts = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    shares = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    assert stats.chisquare(counts, DRAWS * shares).pvalue > LEVEL


def test_normal_quantile():
    tail = np.geomspace(1e-300, 0.5, 2000)
    p = np.concatenate([tail, np.linspace(1e-3, 1 - 1e-3, 2000), 1.0 - tail[tail > 1e-16]])
    p = p[p != 0.5]
    got = np.array([drawing.normal_quantile(x) for x in p])
    # Both are right to a few units in the last place; 1e-13 leaves room for those.
    np.testing.assert_allclose(got, special.ndtri(p), rtol=1e-13)
    assert drawing.normal_quantile(0.5) == 0.0


def test_log_factorial():
    for k in [*range(60), 100, 10**4, 10**9]:
        exact = special.gammaln(k + 1.0)
        assert drawing.log_factorial(float(k)) == pytest.approx(exact, abs=1e-11 * max(1.0, exact))


@pytest.mark.parametrize("shape", [0.0, -1.0, math.nan])
def test_a_gamma_law_that_there_is_not(shape):
    """A damaged record must not make a kernel draw for ever."""
    assert math.isnan(drawing.gamma(np.arange(1, 5, dtype=np.uint64), shape))
